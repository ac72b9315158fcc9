package org.horovod4j;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/// How an allreduce combines the values of all ranks. Immutable; use the same on all ranks.
///
/// ```java
/// AllreduceOptions halves = AllreduceOptions.sum().withPrescale(0.5).withCompressor(Compression.FP16);
/// Hvd.allreduce("gradient", gradient, halves);
/// ```
///
/// @param op how values become one
/// @param scale factors before and after the reduction
/// @param compressor makes what is sent smaller; empty sends the tensor as it is
/// @param processSet the ranks that take part; empty for those of the communicator that is called
public record AllreduceOptions(
        ReduceOp op,
        Scale scale,
        Optional<Compressor> compressor,
        Optional<ProcessSet> processSet) {
    private static final Map<ReduceOp, AllreduceOptions> PLAIN = plain();

    private static Map<ReduceOp, AllreduceOptions> plain() {
        Map<ReduceOp, AllreduceOptions> plain = new EnumMap<>(ReduceOp.class);
        for (ReduceOp op : ReduceOp.values()) {
            plain.put(op, new AllreduceOptions(op, Scale.NONE, Optional.empty(), Optional.empty()));
        }
        return plain;
    }

    /// Reduces by `op`, unscaled and uncompressed.
    public static AllreduceOptions of(ReduceOp op) {
        return Objects.requireNonNull(PLAIN.get(op));
    }

    /// Adds the values.
    public static AllreduceOptions sum() {
        return of(ReduceOp.SUM);
    }

    /// Averages the values.
    public static AllreduceOptions average() {
        return of(ReduceOp.AVERAGE);
    }

    /// Multiplies each rank's values by `factor` before they are reduced.
    public AllreduceOptions withPrescale(double factor) {
        return withScale(new Scale(factor, scale.postscale()));
    }

    /// Multiplies the result by `factor`.
    public AllreduceOptions withPostscale(double factor) {
        return withScale(new Scale(scale.prescale(), factor));
    }

    /// Sets both factors.
    public AllreduceOptions withScale(Scale factors) {
        return new AllreduceOptions(op, factors, compressor, processSet);
    }

    /// Sends what `choice` makes of the tensor.
    public AllreduceOptions withCompressor(Compressor choice) {
        return new AllreduceOptions(op, scale, Optional.of(choice), processSet);
    }

    /// Sends the tensor as it is.
    public AllreduceOptions uncompressed() {
        return compressor.isEmpty()
                ? this
                : new AllreduceOptions(op, scale, Optional.empty(), processSet);
    }

    /// Runs the operation among the ranks of `set`, of which this process must be one.
    public AllreduceOptions in(ProcessSet set) {
        return new AllreduceOptions(op, scale, compressor, Optional.of(set));
    }

    /// Runs the operation among the ranks of the communicator that is called.
    public AllreduceOptions withoutProcessSet() {
        return new AllreduceOptions(op, scale, compressor, Optional.empty());
    }
}
