package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Float tensors of known values, and the check of their sums over all ranks: the time of a wrong
/// result is meaningless. Sums of such small integers are exact.
public final class KnownValues {
    /// Both are prime, so adjacent elements and tensors have different values, and a sum in the
    /// wrong tensor or position is detected.
    private static final long TENSOR_STRIDE = 31;

    private static final int VALUES = 251;

    private KnownValues() {}

    /// Fills a tensor with the values of this rank.
    ///
    /// @param index the position of the tensor among the tensors of a step
    public static void fill(Communicator comm, Tensor tensor, int index) {
        MemorySegment values = tensor.segment();
        for (long i = 0; i < tensor.elementCount(); i++) {
            values.setAtIndex(ValueLayout.JAVA_FLOAT, i, (comm.rank() + 1) * value(index, i));
        }
    }

    /// Fails unless every element is the sum over all ranks.
    ///
    /// @param name of the tensor, for the message
    /// @param index the same as in [#fill]
    public static void checkSums(Communicator comm, String name, Tensor tensor, int index) {
        MemorySegment values = tensor.segment();
        float sumOfRanks = comm.size() * (comm.size() + 1) / 2f;
        for (long i = 0; i < tensor.elementCount(); i++) {
            float found = values.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            float expected = sumOfRanks * value(index, i);
            if (found != expected) {
                throw new IllegalStateException(
                        "sum of '%s' over %d ranks, on rank %d: element %d is %s, not %s"
                                .formatted(name, comm.size(), comm.rank(), i, found, expected));
            }
        }
    }

    private static float value(int tensor, long element) {
        return 1 + (tensor * TENSOR_STRIDE + element) % VALUES;
    }
}
