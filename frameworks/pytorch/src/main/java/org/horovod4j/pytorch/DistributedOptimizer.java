package org.horovod4j.pytorch;

import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.OptimizerOptions;
import org.horovod4j.optim.OverlapTiming;
import org.horovod4j.optim.StepReduction;
import org.horovod4j.optim.overlap.Overlap;
import org.horovod4j.optim.overlap.OverlapMode;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/// Averages gradients over all ranks before an optimizer of `torch::optim` applies them.
///
/// ```java
/// DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Adam(net.parameters()), net).build();
/// // for each batch:
/// optimizer.zeroGrad();
/// loss.backward();
/// optimizer.step();
/// ```
///
/// Call the methods of this class instead of those of the wrapped optimizer. All ranks must use the same
/// settings, and modules whose parameters have the same names.
///
/// - *Overlap.* If overlap pays, a gradient is reduced while backward computes others; otherwise all
///   gradients are reduced when the step begins. See [#overlap].
/// - *Accumulation.* With `backwardPassesPerStep(n)`, weights change after every n-th backward pass. Call
///   [#step] after each pass or after the n-th only. If no parameter is in every pass, for example because
///   ranks take different branches, call it after each pass.
/// - *Clipping.* Call [#synchronize], change the gradients, then call [#step] inside [#skipSynchronize].
///
/// Between backward and step, Horovod4J uses the gradients: do not zero or change them, except after
/// [#synchronize].
public final class DistributedOptimizer {
    private final Optimizer wrapped;
    private final Map<String, Tensor> parameters;
    private final int processSetId;
    private final OverlapMode overlap;
    private final StepReduction reduction = new StepReduction();

    private Supplier<ProcessSet> processSet;
    private GradientSettings settings;
    private @Nullable GradientSynchronizer synchronizer;

    private DistributedOptimizer(
            Builder builder, GradientSettings settings, OptimizerOptions.Ranks ranks) {
        this.wrapped = builder.optimizer;
        this.parameters = builder.parameters;
        this.overlap = builder.overlap;
        this.settings = settings;
        this.processSet = ranks.current();
        this.processSetId = ranks.processSetId();
        if (ranks.areKnown()) {
            GradientSynchronizer _ = synchronizer();
        }
    }

    /// A builder that wraps `optimizer`, which trains `module`.
    public static Builder wrap(Optimizer optimizer, Module module) {
        return new Builder(optimizer, TorchParameters.named(module));
    }

    /// A builder that wraps `optimizer`, which trains a module that was loaded from TorchScript.
    public static Builder wrap(Optimizer optimizer, JitModule module) {
        return new Builder(optimizer, TorchParameters.named(module));
    }

    /// A builder that wraps `optimizer`.
    ///
    /// @param parameters the parameters of the optimizer, by names that are the same on all ranks, in the
    ///     same order
    public static Builder wrap(Optimizer optimizer, Map<String, Tensor> parameters) {
        Map<String, Tensor> kept = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> kept.put(name, TorchParameters.kept(tensor)));
        return new Builder(optimizer, kept);
    }

    /// The optimizer that applies the gradients.
    public Optimizer wrapped() {
        return wrapped;
    }

    /// Waits for all gradients and applies them. With several backward passes in a step it does so after
    /// the last one.
    ///
    /// @return whether parameters have changed
    /// @throws IllegalStateException when there were more backward passes than `backwardPassesPerStep`
    public boolean step() {
        boolean isFirst = synchronizer == null;
        GradientSynchronizer current = synchronizer();
        current.attachNewHooks();
        if (!reduction.reduceAtStep(current, isFirst, settings.backwardPassesPerStep())) {
            return false;
        }
        current.apply();
        return true;
    }

    /// Sets all gradients to zero in their memory, and sparse ones to undefined. Call it before the first
    /// backward pass of a step. (`zero_grad()` of the wrapped optimizer or of a module frees the gradients.
    /// That is allowed too, but costs a copy of each gradient in the next step.)
    ///
    /// @throws IllegalStateException when gradients were computed and not applied
    public void zeroGrad() {
        GradientSynchronizer current = synchronizer();
        int passes = current.reducer().passes();
        if (current.hasHooks() && passes > 0) {
            throw new IllegalStateException(
                    """
                    zeroGrad() after %d of %d backward passes of a step: their gradients may be in use
                    Call step() or synchronize() first. To discard the gradients, call reset() on all ranks."""
                            .formatted(passes, settings.backwardPassesPerStep()));
        }
        current.clear();
    }

    private GradientSynchronizer synchronizer() {
        GradientSynchronizer current = synchronizer;
        if (current == null) {
            current =
                    new GradientSynchronizer(
                            parameters, wrapped, processSet.get(), settings, overlap);
            synchronizer = current;
        }
        return current;
    }

    /// Reduces all gradients now, even if the accumulation window is incomplete. The gradients of the
    /// parameters are then the reduced ones, and the program may change them before [#step] inside
    /// [#skipSynchronize].
    ///
    /// With hooks, a second call without a backward pass in between does nothing. Without hooks, each
    /// call counts as one more pass.
    ///
    /// @throws IllegalStateException when there were more backward passes than `backwardPassesPerStep`
    public void synchronize() {
        requireNotAdasum("synchronize");
        reduction.reduceNow(synchronizer());
    }

    /// Lets [#step] apply gradients without reducing them, until the scope is closed.
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
                    Reduce by AVERAGE to change gradients before a step."""
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
            synchronizer.reducer().backwardPassesPerStep(passes);
        }
        settings = changed;
    }

    /// Discards the accumulation window with its gradients, and uses the current communicator: after a
    /// restart of [Hvd], with its new ranks. Without a restart, all ranks call this after the same backward
    /// pass.
    public void reset() {
        if (synchronizer != null) {
            synchronizer.close();
            synchronizer = null;
        }
        reduction.reset();
        synchronizer().clear();
    }

    /// Uses the ranks of another communicator, in the process set with the same id; see [#reset]. Every
    /// rank of that communicator calls this, or builds an optimizer.
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
                        "the ranks are not known before Hvd.init",
                        new OverlapTiming(0, 0, 0, Duration.ZERO, Duration.ZERO))
                : synchronizer.overlap();
    }

    /// Options of a distributed optimizer.
    public static final class Builder extends OptimizerOptions<Builder> {
        private final Optimizer optimizer;
        private final Map<String, Tensor> parameters;
        private OverlapMode overlap = OverlapMode.AUTO;

        private Builder(Optimizer optimizer, Map<String, Tensor> parameters) {
            if (optimizer instanceof LBFGS) {
                throw new IllegalArgumentException(
                        """
                        LBFGS computes the loss several times in a step, so gradients cannot be averaged once before it
                        Use another optimizer, such as SGD or Adam.""");
            }
            requireSame(optimizer, parameters);
            this.optimizer = optimizer;
            this.parameters = parameters;
        }

        /// A parameter that only one of the two has would be trained without an average, or averaged and
        /// not trained.
        private static void requireSame(Optimizer optimizer, Map<String, Tensor> parameters) {
            Map<Long, String> known =
                    parameters.entrySet().stream()
                            .collect(
                                    Collectors.toMap(
                                            each -> identity(each.getValue()),
                                            Map.Entry::getKey,
                                            (first, _) -> first));
            if (known.size() < parameters.size()) {
                throw new IllegalArgumentException("a parameter is given under two names");
            }
            Set<Long> own = identities(optimizer);
            long unknown = own.stream().filter(each -> !known.containsKey(each)).count();
            if (unknown > 0) {
                throw new IllegalArgumentException(
                        """
                        the optimizer has %d parameters that are not among the %d of the module, so ranks would not \
                        average them
                        Create it with module.parameters(), or pass a map with the names of all its parameters."""
                                .formatted(unknown, parameters.size()));
            }
            parameters.values().removeIf(each -> !own.contains(identity(each)));
            if (parameters.isEmpty()) {
                throw new IllegalArgumentException("the optimizer has no parameters");
            }
        }

        private static Set<Long> identities(Optimizer optimizer) {
            return LongStream.range(0, optimizer.param_groups().size())
                    .mapToObj(group -> optimizer.param_groups().get(group).params())
                    .flatMap(
                            (TensorVector tensors) ->
                                    LongStream.range(0, tensors.size()).mapToObj(tensors::get))
                    .map(Builder::identity)
                    .collect(Collectors.toSet());
        }

        private static long identity(Tensor tensor) {
            return tensor.unsafeGetTensorImpl().address();
        }

        @Override
        protected Builder self() {
            return this;
        }

        /// Whether gradients are reduced while backward computes others. By default they are if that can
        /// pay: the job runs on several hosts or on a GPU, or a host has more processors than its ranks
        /// use. The results are the same.
        public Builder overlap(boolean yes) {
            overlap = yes ? OverlapMode.ALWAYS : OverlapMode.NEVER;
            return this;
        }

        /// Checks the settings, and attaches hooks.
        ///
        /// Before [Hvd#init] the optimizer has no ranks: it gets them in the first step or from
        /// `Elastic.run`. So a worker of an elastic job can build everything before the others wait for it.
        /// With several backward passes in a step, the optimizer needs its ranks before the first pass: use
        /// `Elastic.run` and `TorchState`, or call [#rebind] on all ranks.
        ///
        /// @throws IllegalArgumentException when settings contradict each other
        public DistributedOptimizer build() {
            return new DistributedOptimizer(this, settings(), ranks());
        }
    }
}
