package org.horovod4j.optim;

import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;

/// The options that the distributed optimizers of all frameworks have in common.
///
/// @param <B> the builder of a framework
public abstract class OptimizerOptions<B extends OptimizerOptions<B>> {
    private final GradientSettings.Builder settings = GradientSettings.builder();
    private @Nullable Communicator communicator;
    private @Nullable ProcessSet processSet;

    protected OptimizerOptions() {}

    /// This builder.
    protected abstract B self();

    /// The ranks that share gradients; all ranks of the job by default.
    public final B communicator(Communicator value) {
        communicator = value;
        return self();
    }

    /// Only these ranks share gradients; other ranks apply their own.
    public final B processSet(ProcessSet value) {
        processSet = value;
        return self();
    }

    /// AVERAGE (the default), SUM or ADASUM.
    public final B op(ReduceOp op) {
        settings.op(op);
        return self();
    }

    /// Compresses gradients for the exchange.
    public final B compression(Compressor compressor) {
        settings.compressor(compressor);
        return self();
    }

    /// Accumulates the gradients of `passes` backward passes before a step; 1 by default.
    public final B backwardPassesPerStep(int passes) {
        settings.backwardPassesPerStep(passes);
        return self();
    }

    /// Divides accumulated gradients by `backwardPassesPerStep`, even if `synchronize` has ended the
    /// accumulation window early.
    public final B averageAccumulated(boolean yes) {
        settings.averageAccumulated(yes);
        return self();
    }

    /// Reduces gradients in this number of groups, with sizes that differ by one at most.
    public final B groups(int count) {
        settings.groups(new GradientGroups.Count(count));
        return self();
    }

    /// Reduces the gradients of each group together, and all others separately.
    public final B groups(List<List<String>> parameterNames) {
        settings.groups(new GradientGroups.Named(parameterNames));
        return self();
    }

    /// Divides gradients by `factor` before they are added up, and by the rest of the average
    /// afterwards.
    public final B predivideFactor(double factor) {
        settings.predivideFactor(factor);
        return self();
    }

    /// Makes sparse gradients dense before they are reduced.
    public final B sparseAsDense(boolean yes) {
        settings.sparseAsDense(yes);
        return self();
    }

    /// Parameters that are not reduced.
    public final B local(Predicate<String> parameterName) {
        settings.local(parameterName);
        return self();
    }

    /// Whether gradients of local parameters are divided by the number of ranks, which is the
    /// default.
    public final B scaleLocalGradients(boolean yes) {
        settings.scaleLocalGradients(yes);
        return self();
    }

    /// How many steps pass between two checks that all ranks have the same parameters. The first
    /// step is always checked, unless this is 0: then there is no check. By default
    /// `HOROVOD_PARAMETER_CHECK_INTERVAL`, which is 500.
    public final B parameterCheckInterval(int steps) {
        settings.parameterCheckInterval(steps);
        return self();
    }

    /// Distinguishes optimizers of one program whose networks have the same parameter names.
    public final B name(String name) {
        settings.prefix(GradientSettings.DEFAULT.prefix() + "." + name);
        return self();
    }

    /// The chosen settings.
    ///
    /// @throws IllegalArgumentException when settings contradict each other
    protected final GradientSettings settings() {
        return settings.build();
    }

    /// The ranks of an optimizer.
    ///
    /// @param areKnown whether the ranks are known before the first step
    /// @param processSetId 0, the set of all ranks of the job, if they are not known
    /// @param current returns the current process set; it changes when [Hvd] restarts
    public record Ranks(boolean areKnown, int processSetId, Supplier<ProcessSet> current) {}

    protected final Ranks ranks() {
        boolean areKnown = processSet != null || communicator != null || Hvd.isInitialized();
        return new Ranks(
                areKnown, areKnown ? currentProcessSet().id() : 0, this::currentProcessSet);
    }

    private ProcessSet currentProcessSet() {
        if (processSet != null) {
            return processSet;
        }
        return (communicator != null ? communicator : Hvd.communicator()).processSet();
    }

    /// The process set of a communicator that replaces the one of this optimizer.
    ///
    /// @throws IllegalStateException when it has no such process set
    public static ProcessSet findProcessSet(Communicator communicator, int processSetId) {
        return communicator.processSets().stream()
                .filter(set -> set.id() == processSetId)
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalStateException(
                                        """
                                        the optimizer reduces gradients in process set %d, but there are only the process sets %s
                                        Ranks of the set may have left: use all ranks in an elastic job."""
                                                .formatted(
                                                        processSetId,
                                                        communicator.processSets().stream()
                                                                .map(ProcessSet::id)
                                                                .toList())));
    }
}
