package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.optim.GradientGroups;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.OverlapTiming;
import org.horovod4j.optim.StepDetector;
import org.horovod4j.optim.overlap.Overlap;
import org.horovod4j.optim.overlap.OverlapMode;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;

/// An optimizer that averages gradients over all ranks before another one applies them.
///
/// ```java
/// Optimizer optimizer = DistributedOptimizer.wrap(Optimizer.adam().build(), model.getBlock()).build();
/// TrainingConfig config = new DefaultTrainingConfig(loss).optOptimizer(optimizer);
/// ```
///
/// Everything else of the program stays as it is, with `EasyTrain.fit` or with a loop of its own.
/// All ranks must build it with the same settings, and with blocks whose parameters have the same
/// names.
///
/// - *Overlap.* Where the engine has hooks and it can pay, a gradient is reduced while backward computes
///   the ones before it; else all of them when the step begins. [#overlap] tells.
/// - *Accumulation.* With `backwardPassesPerStep(n)` a step is made after every n-th backward pass.
///   `trainer.step()` may be called after each of them or after the n-th alone. Without hooks a
///   call of `step()` is taken for one backward pass. If no parameter is in every pass, as where
///   ranks take different branches, call it after each of them.
/// - *Clipping.* [#synchronize], change the gradients, then `trainer.step()` inside
///   [#skipSynchronize].
/// - *The first step* of an optimizer that was built before its block was initialised, or with a
///   block that was loaded, has no hooks yet: it reduces whatever was accumulated.
///
/// Between backward and step gradients belong to Horovod4J: do not zero or change them there but
/// after [#synchronize].
public final class DistributedOptimizer extends Optimizer {
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

    /// What a call of [#pendingUpdate] is left to do.
    private enum PendingUpdate {
        /// Nothing: the window is not complete, or the step has updated all parameters at its
        /// beginning.
        NONE,
        /// That parameter, whose weight an engine keeps elsewhere than the block.
        THIS_PARAMETER
    }

    private DistributedOptimizer(Builder builder) {
        super(new EmptyOptimizerBuilder());
        this.wrapped = builder.optimizer;
        this.block = builder.block;
        this.overlap = builder.overlap;
        this.settings = builder.settings.build();
        this.processSet = builder::processSet;
        this.processSetId = builder.processSetId();
        if (builder.hasRanks() && canTrain()) {
            GradientSynchronizer _ = synchronizer();
        }
    }

    /// Whether there are gradients to be hooked: a model that was loaded gets them from its
    /// trainer, which wants the optimizer first, and one whose parameters are all frozen has none.
    private boolean canTrain() {
        if (!block.isInitialized()) {
            return false;
        }
        BlockParameters parameters = new BlockParameters(block);
        BitSet trainable = parameters.trainable();
        return !trainable.isEmpty()
                && trainable.stream().allMatch(i -> parameters.array(i).hasGradient());
    }

    /// Begins to wrap `optimizer`, which trains `block`.
    public static Builder wrap(Optimizer optimizer, Block block) {
        return new Builder(optimizer, block);
    }

    /// The optimizer that applies the gradients.
    public Optimizer wrapped() {
        return wrapped;
    }

    /// Called by DJL for one parameter after the other. `grad` is a copy that was made before
    /// gradients were reduced, and is not used.
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

    /// Whether the weight is the block's. One that has no gradient is an engine's own copy, which
    /// it will bring to the block itself.
    private static boolean isBlockWeight(NDArray array, NDArray weight) {
        boolean same = weight.getUid().equals(array.getUid());
        if (!same && weight.hasGradient()) {
            throw new IllegalStateException(
                    """
                    the trainer computes on %s, but the parameters of the model are on %s
                    Give each rank one device, and both the same: Model.newInstance(name, device) and \
                    optDevices(new Device[] {device})."""
                            .formatted(weight.getDevice(), array.getDevice()));
        }
        return same;
    }

    private PendingUpdate beginStep(GradientSynchronizer current, boolean isFirst, boolean isOwn) {
        current.attachNewHooks();
        beforeUpdates.forEach(Runnable::run); // Adasum's reduction begins with an update
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

    /// Reduces all gradients now, whether or not the window of backward passes is complete; those
    /// of the block are then the reduced ones, and may be changed before `trainer.step()`, which
    /// goes inside [#skipSynchronize]. Reduced sparse gradients are kept apart, so that changes do
    /// not reach them.
    ///
    /// A second call without a backward pass in between does nothing, where hooks can tell; without
    /// hooks each call is taken for one more pass.
    ///
    /// @throws IllegalStateException when there were more backward passes than
    ///     `backwardPassesPerStep`
    public void synchronize() {
        requireNotAdasum("synchronize");
        reduction.reduceNow(synchronizer());
    }

    /// Lets `trainer.step()` take gradients as they are, until closed.
    public SkipScope skipSynchronize() {
        requireNotAdasum("skipSynchronize");
        reduction.setSkipping(true);
        return () -> reduction.setSkipping(false);
    }

    private void requireNotAdasum(String method) {
        if (settings.op() == ReduceOp.ADASUM) {
            throw new IllegalStateException(
                    """
                    %s() is about reduced gradients, but Adasum combines the changes that they make
                    Clip by the wrapped optimizer's optClipGrad, or reduce by AVERAGE."""
                            .formatted(method));
        }
    }

    /// What [#skipSynchronize] opens.
    public interface SkipScope extends AutoCloseable {
        @Override
        void close();
    }

    /// Changes how many backward passes make a step, between two steps.
    public void setBackwardPassesPerStep(int passes) {
        GradientSettings changed = settings.withBackwardPassesPerStep(passes);
        if (synchronizer != null) {
            synchronizer.backwardPassesPerStep(passes);
        }
        settings = changed;
    }

    /// Calls `action` in each step before any parameter changes, for what reads parameters meanwhile.
    public void beforeUpdates(Runnable action) {
        beforeUpdates.add(action);
    }

    /// Forgets the window of backward passes with the gradients in it, and goes on with the communicator of
    /// today: after [Hvd] was shut down and initialised anew, with as many ranks as there are then. In a
    /// world that goes on, all ranks call this after the same backward pass.
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

    /// Goes on among the ranks of another world, in the process set with the number of the one it
    /// was built for; see [#reset]. Every rank of that world calls this, or builds an optimizer.
    ///
    /// @throws IllegalStateException when that world has no such process set
    public void rebind(Communicator communicator) {
        ProcessSet next =
                communicator.processSets().stream()
                        .filter(set -> set.id() == processSetId)
                        .findFirst()
                        .orElseThrow(() -> new IllegalStateException(missingSet(communicator)));
        processSet = () -> next;
        reset();
    }

    private String missingSet(Communicator communicator) {
        return """
               the optimizer shares gradients within process set %d, but %s are all that there are now
               Their ranks may be gone: let all ranks share gradients if workers come and go."""
                .formatted(
                        processSetId,
                        communicator.processSets().stream().map(ProcessSet::id).toList());
    }

    /// Whether communication hides behind backward passes, and how well.
    public Overlap overlap() {
        return synchronizer == null
                ? new Overlap(
                        false,
                        "hooks are attached when parameters are initialised",
                        new OverlapTiming(0, 0, 0, Duration.ZERO, Duration.ZERO))
                : synchronizer.overlap();
    }

    /// The settings that every DJL optimizer has are those of the wrapped one.
    private static final class EmptyOptimizerBuilder
            extends OptimizerBuilder<EmptyOptimizerBuilder> {
        @Override
        protected EmptyOptimizerBuilder self() {
            return this;
        }
    }

    /// What a distributed optimizer can be asked for.
    public static final class Builder {
        private final Optimizer optimizer;
        private final Block block;
        private final GradientSettings.Builder settings = GradientSettings.builder();
        private @Nullable Communicator communicator;
        private @Nullable ProcessSet processSet;
        private OverlapMode overlap = OverlapMode.AUTO;

        private Builder(Optimizer optimizer, Block block) {
            if (optimizer instanceof DistributedOptimizer) {
                throw new IllegalArgumentException(
                        "the optimizer is distributed already; wrap the one inside it, or none");
            }
            this.optimizer = optimizer;
            this.block = block;
        }

        /// Whose ranks share gradients; by default all of the job.
        public Builder communicator(Communicator value) {
            communicator = value;
            return this;
        }

        /// Only these ranks share gradients; others step with their own.
        public Builder processSet(ProcessSet value) {
            processSet = value;
            return this;
        }

        /// AVERAGE, which is the default, SUM, or ADASUM.
        public Builder op(ReduceOp op) {
            settings.op(op);
            return this;
        }

        /// Sends gradients smaller than they are.
        public Builder compression(Compressor compressor) {
            settings.compressor(compressor);
            return this;
        }

        /// Adds up the gradients of `passes` backward passes before a step; the default is 1, and
        /// all that engine MXNet can do.
        public Builder backwardPassesPerStep(int passes) {
            settings.backwardPassesPerStep(passes);
            return this;
        }

        /// Divides accumulated gradients by `backwardPassesPerStep`, also those of a window that
        /// was ended early by [DistributedOptimizer#synchronize].
        public Builder averageAccumulated(boolean yes) {
            settings.averageAccumulated(yes);
            return this;
        }

        /// Lets gradients travel in so many groups, as even as possible.
        public Builder groups(int count) {
            settings.groups(new GradientGroups.Count(count));
            return this;
        }

        /// Lets these gradients travel together, and all others alone.
        public Builder groups(List<List<String>> parameterNames) {
            settings.groups(new GradientGroups.Named(parameterNames));
            return this;
        }

        /// Divides by `factor` before gradients are added up and by the rest of the average
        /// afterwards.
        public Builder predivideFactor(double factor) {
            settings.predivideFactor(factor);
            return this;
        }

        /// Makes sparse gradients dense before they travel.
        public Builder sparseAsDense(boolean yes) {
            settings.sparseAsDense(yes);
            return this;
        }

        /// Parameters that each rank keeps for itself.
        public Builder local(Predicate<String> parameterName) {
            settings.local(parameterName);
            return this;
        }

        /// Whether gradients of local parameters are divided by the number of ranks, which is the
        /// default.
        public Builder scaleLocalGradients(boolean yes) {
            settings.scaleLocalGradients(yes);
            return this;
        }

        /// Distinguishes optimizers of one program whose blocks have parameters of the same names.
        public Builder name(String name) {
            settings.prefix(GradientSettings.DEFAULT.prefix() + "." + name);
            return this;
        }

        /// Whether gradients are reduced while backward computes others, where the engine allows
        /// it. By default they are where that can pay: where the job is on several hosts, on a GPU,
        /// or where a host has more processors than its ranks compute on. The results are the same.
        public Builder overlap(boolean yes) {
            overlap = yes ? OverlapMode.ALWAYS : OverlapMode.NEVER;
            return this;
        }

        /// Checks the settings, and attaches hooks if the block has parameters already. If nobody has called
        /// [Hvd#init] yet, the optimizer gets its ranks with the first step, or from `Elastic.run`: a
        /// worker of an elastic job does well to build everything before others wait for it. Several
        /// backward passes in a step cannot be counted before it has its ranks, so then leave those to
        /// `Elastic.run` and `DjlState`, or call [#rebind], on all ranks.
        ///
        /// @throws IllegalArgumentException when settings make no sense
        public DistributedOptimizer build() {
            return new DistributedOptimizer(this);
        }

        private boolean hasRanks() {
            return processSet != null || communicator != null || Hvd.isInitialized();
        }

        private int processSetId() {
            return hasRanks() ? processSet().id() : 0; // that of all ranks of the job
        }

        /// That of today: [Hvd] may be initialised anew.
        private ProcessSet processSet() {
            if (processSet != null) {
                return processSet;
            }
            return (communicator != null ? communicator : Hvd.communicator()).processSet();
        }
    }
}
