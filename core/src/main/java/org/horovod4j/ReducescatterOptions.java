package org.horovod4j;

import java.util.Optional;

/// How a reducescatter combines the values of all ranks. Immutable; use the same on all ranks.
///
/// @param op AVERAGE or SUM
/// @param scale factors before and after the reduction
/// @param processSet the ranks that take part; empty for those of the communicator that is called
public record ReducescatterOptions(ReduceOp op, Scale scale, Optional<ProcessSet> processSet) {
    public ReducescatterOptions {
        if (op != ReduceOp.AVERAGE && op != ReduceOp.SUM) {
            throw new IllegalArgumentException(
                    "reducescatter: the reduce op is AVERAGE or SUM, not " + op);
        }
    }

    /// Reduces by `op`, unscaled.
    public static ReducescatterOptions of(ReduceOp op) {
        return new ReducescatterOptions(op, Scale.NONE, Optional.empty());
    }

    /// Adds the values.
    public static ReducescatterOptions sum() {
        return of(ReduceOp.SUM);
    }

    /// Averages the values.
    public static ReducescatterOptions average() {
        return of(ReduceOp.AVERAGE);
    }

    /// Multiplies each rank's values by `factor` before they are reduced.
    public ReducescatterOptions withPrescale(double factor) {
        return withScale(new Scale(factor, scale.postscale()));
    }

    /// Multiplies the result by `factor`.
    public ReducescatterOptions withPostscale(double factor) {
        return withScale(new Scale(scale.prescale(), factor));
    }

    /// Sets both factors.
    public ReducescatterOptions withScale(Scale factors) {
        return new ReducescatterOptions(op, factors, processSet);
    }

    /// Runs the operation among the ranks of `set`, of which this process must be one.
    public ReducescatterOptions in(ProcessSet set) {
        return new ReducescatterOptions(op, scale, Optional.of(set));
    }

    /// Runs the operation among the ranks of the communicator that is called.
    public ReducescatterOptions withoutProcessSet() {
        return new ReducescatterOptions(op, scale, Optional.empty());
    }
}
