package org.horovod4j.sparse;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;

/// What an average divides by that is made of gathered parts.
///
/// While ranks have joined, dense averages follow `HOROVOD_JOIN_AVERAGE` of the process set's first
/// rank, and these must not differ. Nobody else knows that rule, so the ranks average the number 1
/// each: its sum is how many of them bring something, and the mean tells what that was divided by.
/// Costs one small allreduce while ranks have joined, and nothing otherwise.
public final class AverageDivisor {
    private AverageDivisor() {}

    /// Asks, on every rank that brings something.
    ///
    /// @param name of the tensor to be averaged
    /// @param bringing the number of ranks that contribute rows
    public static Handle<Integer> of(
            Communicator communicator, String name, ReduceOp op, int bringing) {
        if (op != ReduceOp.AVERAGE) {
            return Handle.completed(1);
        }
        if (bringing == communicator.size()) {
            return Handle.completed(bringing);
        }
        Tensor one = Tensor.of(new double[] {1});
        return communicator
                .allreduceAsync(name + ".ranks", one, ReduceOp.AVERAGE)
                .thenApply(mean -> Math.toIntExact(Math.round(bringing / mean.toDoubleArray()[0])));
    }
}
