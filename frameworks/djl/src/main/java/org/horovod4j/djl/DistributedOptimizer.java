package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.OptimizerOptions;
import org.horovod4j.optim.OverlapTiming;
import org.horovod4j.optim.StepDetector;
import org.horovod4j.optim.StepReduction;
import org.horovod4j.optim.overlap.Overlap;
import org.horovod4j.optim.overlap.OverlapMode;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Supplier;

/// An optimizer that averages gradients over all ranks before another one applies them.
///
/// ```java
/// Optimizer optimizer = DistributedOptimizer.wrap(Optimizer.adam().build(), model.getBlock()).build();
/// TrainingConfig config = new DefaultTrainingConfig(loss).optOptimizer(optimizer);
/// ```
///
/// The rest of the program does not change, with `EasyTrain.fit` or with its own loop. All ranks
/// must use the same settings, and blocks whose parameters have the same names.
///
/// - *Overlap.* If the engine has hooks and overlap pays, a gradient is reduced while backward
///   computes others; otherwise all gradients are reduced when the step begins. See [#overlap].
/// - *Accumulation.* With `backwardPassesPerStep(n)`, weights change after every n-th backward
///   pass. Call `trainer.step()` after each pass or after the n-th only. Without hooks a call of
///   `step()` counts as one backward pass. Engine MXNet supports one pass only. If no parameter is in every pass, for example because
///   ranks take different branches, call it after each pass.
/// - *Clipping.* Call [#synchronize], change the gradients, then call `trainer.step()` inside
///   [#skipSynchronize].
/// - *First step.* If the optimizer was built before its block was initialised, or with a block
///   that was loaded, the first step has no hooks: it reduces all accumulated gradients.
///
/// Between backward and step, Horovod4J uses the gradients: do not zero or change them, except
/// after [#synchronize].
public final class DistributedOptimizer extends Optimizer {
    /// DJL reads it when a trainer with engine MXNet is created. Unless it is `true`, native code calls
    /// the optimizer: an exception of a step is printed and lost, and weights have copies there.
    private static final String LOCAL_PARAMETER_SERVER = "ai.djl.use_local_parameter_server";

    private final Optimizer wrapped;
    private final Block block;
    private final int processSetId;
    private final OverlapMode overlap;
    private final StepDetector stepDetector = new StepDetector();
    private final StepReduction reduction = new StepReduction();
    private final List<Runnable> beforeUpdates = new ArrayList<>();

    private Supplier<ProcessSet> processSet;
    private GradientSettings settings;
    private @Nullable GradientSynchronizer synchronizer;
    private PendingUpdate pendingUpdate = PendingUpdate.NONE;

    /// What remains to do in a call of [#update].
    private enum PendingUpdate {
        /// Nothing: the accumulation window is not complete, or the beginning of the step has
        /// updated all parameters.
        NONE,
        /// Update this parameter: the engine keeps its weight outside the block.
        THIS_PARAMETER
    }

    private DistributedOptimizer(
            Builder builder, GradientSettings settings, OptimizerOptions.Ranks ranks) {
        super(new EmptyOptimizerBuilder());
        this.wrapped = builder.optimizer;
        this.block = builder.block;
        this.overlap = builder.overlap;
        this.settings = settings;
        this.processSet = ranks.current();
        this.processSetId = ranks.processSetId();
        if (System.getProperty(LOCAL_PARAMETER_SERVER) == null) {
            System.setProperty(LOCAL_PARAMETER_SERVER, "true");
        }
        if (ranks.areKnown() && canTrain()) {
            GradientSynchronizer _ = synchronizer();
        }
    }

    /// Whether gradients exist. The trainer creates those of a loaded model, after the optimizer. A
    /// model with frozen parameters only has none.
    private boolean canTrain() {
        if (!block.isInitialized()) {
            return false;
        }
        BlockParameters parameters = new BlockParameters(block);
        BitSet trainable = parameters.trainable();
        return !trainable.isEmpty()
                && trainable.stream().allMatch(i -> parameters.array(i).hasGradient());
    }

    /// A builder that wraps `optimizer`, which trains `block`.
    public static Builder wrap(Optimizer optimizer, Block block) {
        return new Builder(optimizer, block);
    }

    /// The optimizer that applies the gradients.
    public Optimizer wrapped() {
        return wrapped;
    }

    /// Called by DJL for one parameter after the other. `grad` is not used: it is a copy from
    /// before the reduction.
    @Override
    public void update(String parameterId, NDArray weight, NDArray grad) {
        boolean isFirst = synchronizer == null;
        GradientSynchronizer current = synchronizer();
        int parameter = current.parameters().position(parameterId);
        boolean isOwn = isBlockWeight(current.parameters().array(parameter), weight);
        if (stepDetector.beginsStep(parameter)) {
            pendingUpdate = beginStep(current, isFirst, isOwn);
            stepDetector.begin(current.parameters().trainable());
        }
        stepDetector.markUpdated(parameter);
        if (pendingUpdate == PendingUpdate.THIS_PARAMETER) {
            current.apply(parameter, weight);
        }
    }

    /// Whether the weight is that of the block. A weight without a gradient is a copy of the
    /// engine, which the engine itself copies to the block.
    private static boolean isBlockWeight(NDArray array, NDArray weight) {
        boolean same = weight.getUid().equals(array.getUid());
        if (!same && weight.hasGradient()) {
            throw new IllegalStateException(
                    """
                    the trainer computes on %s, but the parameters of the model are on %s
                    Use one device for each rank, in both places: Model.newInstance(name, device) and \
                    optDevices(new Device[] {device})."""
                            .formatted(weight.getDevice(), array.getDevice()));
        }
        return same;
    }

    private PendingUpdate beginStep(GradientSynchronizer current, boolean isFirst, boolean isOwn) {
        current.attachNewHooks();
        beforeUpdates.forEach(
                Runnable::run); // first, since the reduction of Adasum begins with an update
        if (!reduction.reduceAtStep(current, isFirst, settings.backwardPassesPerStep())) {
            return PendingUpdate.NONE;
        }
        if (isOwn) {
            current.applyAll();
            return PendingUpdate.NONE;
        }
        current.checkForeignWeights();
        return PendingUpdate.THIS_PARAMETER;
    }

    private GradientSynchronizer synchronizer() {
        GradientSynchronizer current = synchronizer;
        if (current == null) {
            current = new GradientSynchronizer(block, wrapped, processSet.get(), settings, overlap);
            synchronizer = current;
        }
        return current;
    }

    /// Reduces all gradients now, even if the accumulation window is incomplete. The gradients
    /// of the block are then the reduced ones, and the program may change them before
    /// `trainer.step()` inside [#skipSynchronize]. Reduced sparse gradients are kept elsewhere:
    /// changes do not affect them.
    ///
    /// With hooks, a second call without a backward pass in between does nothing. Without hooks,
    /// each call counts as one more pass.
    ///
    /// @throws IllegalStateException when there were more backward passes than
    ///     `backwardPassesPerStep`
    public void synchronize() {
        requireNotAdasum("synchronize");
        reduction.reduceNow(synchronizer());
    }

    /// Lets `trainer.step()` apply gradients without reducing them, until the scope is closed.
    public SkipScope skipSynchronize() {
        requireNotAdasum("skipSynchronize");
        reduction.setSkipping(true);
        return () -> reduction.setSkipping(false);
    }

    private void requireNotAdasum(String method) {
        if (settings.op() == ReduceOp.ADASUM) {
            throw new IllegalStateException(
                    """
                    %s() needs reduced gradients, but Adasum reduces changes of weights
                    Clip by the wrapped optimizer's optClipGrad, or reduce by AVERAGE."""
                            .formatted(method));
        }
    }

    /// The scope of [#skipSynchronize].
    public interface SkipScope extends AutoCloseable {
        @Override
        void close();
    }

    /// Changes the number of backward passes in a step. Call it between two steps.
    public void setBackwardPassesPerStep(int passes) {
        GradientSettings changed = settings.withBackwardPassesPerStep(passes);
        if (synchronizer != null) {
            synchronizer.backwardPassesPerStep(passes);
        }
        settings = changed;
    }

    /// Runs `action` in each step before any parameter changes, for code that reads parameters in
    /// another thread.
    public void beforeUpdates(Runnable action) {
        beforeUpdates.add(action);
    }

    /// Discards the accumulation window with its gradients, and uses the current communicator:
    /// after a restart of [Hvd], with its new ranks. Without a restart, all ranks call this after
    /// the same backward pass.
    public void reset() {
        if (synchronizer != null) {
            synchronizer.close();
            synchronizer = null;
        }
        stepDetector.begin(new BitSet());
        reduction.reset();
        if (canTrain()) {
            synchronizer().clear();
        }
    }

    /// Uses the ranks of another communicator, in the process set with the same id; see [#reset].
    /// Every rank of that communicator calls this, or builds an optimizer.
    ///
    /// @throws IllegalStateException when it has no such process set
    public void rebind(Communicator communicator) {
        ProcessSet next = OptimizerOptions.findProcessSet(communicator, processSetId);
        processSet = () -> next;
        reset();
    }

    /// Whether communication overlaps with backward passes, and how well.
    public Overlap overlap() {
        return synchronizer == null
                ? new Overlap(
                        false,
                        "hooks are attached when parameters are initialised",
                        new OverlapTiming(0, 0, 0, Duration.ZERO, Duration.ZERO))
                : synchronizer.overlap();
    }

    /// The settings of DJL's base class are those of the wrapped optimizer.
    private static final class EmptyOptimizerBuilder
            extends OptimizerBuilder<EmptyOptimizerBuilder> {
        @Override
        protected EmptyOptimizerBuilder self() {
            return this;
        }
    }

    /// Options of a distributed optimizer.
    public static final class Builder extends OptimizerOptions<Builder> {
        private final Optimizer optimizer;
        private final Block block;
        private OverlapMode overlap = OverlapMode.AUTO;

        private Builder(Optimizer optimizer, Block block) {
            if (optimizer instanceof DistributedOptimizer) {
                throw new IllegalArgumentException(
                        "the optimizer is distributed already: wrap it once");
            }
            this.optimizer = optimizer;
            this.block = block;
        }

        @Override
        protected Builder self() {
            return this;
        }

        /// Whether gradients are reduced while backward computes others, if the engine supports it.
        /// By default they are if that can pay: the job runs on several hosts or on a GPU, or a
        /// host has more processors than its ranks use. The results are the same.
        public Builder overlap(boolean yes) {
            overlap = yes ? OverlapMode.ALWAYS : OverlapMode.NEVER;
            return this;
        }

        /// Checks the settings, and attaches hooks if the block has parameters already.
        ///
        /// Before [Hvd#init] the optimizer has no ranks: it gets them in the first step or from
        /// `Elastic.run`. So a worker of an elastic job can build everything before the others wait
        /// for it. With several backward passes in a step, the optimizer needs its ranks before the
        /// first pass: use `Elastic.run` and `DjlState`, or call [#rebind] on all ranks.
        ///
        /// @throws IllegalArgumentException when settings contradict each other
        public DistributedOptimizer build() {
            return new DistributedOptimizer(this, settings(), ranks());
        }
    }
}
