package org.horovod4j.sparse;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;

/// The divisor of an average that is computed from gathered parts.
///
/// While ranks have joined, dense averages follow `HOROVOD_JOIN_AVERAGE` of the first rank of the
/// process set, and averages of gathered parts need the same divisor. Only that rank knows the
/// setting. So each rank contributes the number 1 to an average: the sum is the number of ranks
/// with data, and the mean shows the divisor. Costs one small allreduce while ranks have joined,
/// and nothing otherwise.
public final class AverageDivisor {
    private AverageDivisor() {}

    /// The divisor. Every rank with data calls this.
    ///
    /// @param name of the tensor to be averaged
    /// @param contributors the number of ranks that contribute rows
    public static Handle<Integer> of(
            Communicator communicator, String name, ReduceOp op, int contributors) {
        if (op != ReduceOp.AVERAGE) {
            return Handle.completed(1);
        }
        if (contributors == communicator.size()) {
            return Handle.completed(contributors);
        }
        Tensor one = Tensor.of(new double[] {1});
        return communicator
                .allreduceAsync(name + ".ranks", one, ReduceOp.AVERAGE)
                .thenApply(
                        mean ->
                                Math.toIntExact(
                                        Math.round(contributors / mean.toDoubleArray()[0])));
    }
}
