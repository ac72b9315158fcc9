package org.horovod4j.runtime;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.DataType;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.message.CollectiveKind;

import java.util.stream.IntStream;

/// Checks the arguments of a collective as far as one rank can check them alone. What ranks must
/// agree on is checked by the coordinator.
final class ArgumentChecks {
    /// Never started. Stands for any thread that has opened no arena.
    private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

    private final RankSet set;
    private final ProcessSet processSet;
    private final int size;

    ArgumentChecks(RankSet set, ProcessSet processSet) {
        this.set = set;
        this.processSet = processSet;
        this.size = set.size();
    }

    /// The number of rows for each rank: the splits of the options, or equal parts.
    int[] alltoallRows(String name, Tensor tensor, AlltoallOptions options) {
        checkNotScalar(CollectiveKind.ALLTOALL, name, tensor);
        long rows = tensor.shape().dimension(0);
        if (options.splits().isEmpty()) {
            if (rows % size != 0) {
                throw new IllegalArgumentException(
                        """
                        alltoall of '%s': its %d rows cannot be divided equally among %d ranks
                        Give splits that say how many rows each rank gets."""
                                .formatted(name, rows, size));
            }
            if (rows / size > Integer.MAX_VALUE) {
                throw new IllegalArgumentException(
                        "alltoall of '%s': %d rows for each rank are too many; reshape it to longer rows"
                                .formatted(name, rows / size));
            }
            return IntStream.generate(() -> (int) (rows / size)).limit(size).toArray();
        }
        int[] splits = options.splits().get().stream().mapToInt(Integer::intValue).toArray();
        if (splits.length != size) {
            throw new IllegalArgumentException(
                    "alltoall of '%s': %d splits given for %d ranks"
                            .formatted(name, splits.length, size));
        }
        long sum = 0;
        for (int split : splits) {
            if (split < 0) {
                throw new IllegalArgumentException(
                        "alltoall of '%s': split %d is negative".formatted(name, split));
            }
            sum += split;
        }
        if (sum > rows) {
            throw new IllegalArgumentException(
                    "alltoall of '%s': the splits ask for %d rows, but it has %d"
                            .formatted(name, sum, rows));
        }
        return splits;
    }

    void checkRoot(String name, int rootRank) {
        if (rootRank < 0 || rootRank >= size) {
            throw new IllegalArgumentException(
                    set.id() == 0
                            ? "broadcast of '%s': there is no root rank %d, ranks go from 0 to %d"
                                    .formatted(name, rootRank, size - 1)
                            : "broadcast of '%s': there is no root rank %d in %s. A root is a rank of the process set, from 0 to %d%s"
                                    .formatted(
                                            name, rootRank, processSet, size - 1, hint(rootRank)));
        }
    }

    private String hint(int rootRank) {
        int setRank = set.ranks().indexOf(rootRank);
        return setRank < 0
                ? ""
                : "; rank %d of the job is rank %d of the set".formatted(rootRank, setRank);
    }

    static void checkNotScalar(CollectiveKind collectiveKind, String name, Tensor tensor) {
        if (tensor.shape().rank() == 0) {
            throw new IllegalArgumentException(
                    "%s of '%s': it needs a first dimension, a scalar has none: reshape it to [1]"
                            .formatted(collectiveKind, name));
        }
    }

    static void checkReducible(
            CollectiveKind collectiveKind, String name, Tensor tensor, ReduceOp op, Scale scale) {
        if (tensor.dataType() == DataType.BOOL
                && (op == ReduceOp.AVERAGE
                        || scale.prescale() != 1.0
                        || scale.postscale() != 1.0)) {
            throw new IllegalArgumentException(
                    "%s of '%s': a bool tensor has no average and cannot be scaled; convert it to a number type"
                            .formatted(collectiveKind, name));
        }
        if (op == ReduceOp.ADASUM && !tensor.dataType().isFloatingPoint()) {
            throw new IllegalArgumentException(
                    "%s of '%s': Adasum is for floating-point types, not %s"
                            .formatted(collectiveKind, name, tensor.dataType()));
        }
    }

    static void checkOutput(String name, Tensor input, Tensor output) {
        if (input == output) {
            return;
        }
        if (input.dataType() != output.dataType() || !input.shape().equals(output.shape())) {
            throw new IllegalArgumentException(
                    "allreduce of '%s': input is %s, but output is %s"
                            .formatted(name, input, output));
        }
        if (!input.device().equals(output.device())) {
            throw new IllegalArgumentException(
                    "allreduce of '%s': input is on %s, but output is on %s"
                            .formatted(name, input.device(), output.device()));
        }
        if (overlap(input, output)) {
            throw new IllegalArgumentException(
                    "allreduce of '%s': input and output overlap: use one tensor for both, or two that do not overlap"
                            .formatted(name));
        }
    }

    /// Whether they share some bytes, but not all.
    private static boolean overlap(Tensor a, Tensor b) {
        if (a.device().isHost()) {
            return !a.segment().equals(b.segment())
                    && a.segment().asOverlappingSlice(b.segment()).isPresent();
        }
        long distance = Math.abs(a.deviceAddress() - b.deviceAddress());
        return distance != 0 && distance < a.byteSize();
    }

    /// Asynchronous operations may run on another thread, which must be able to access the memory.
    static void checkNotConfined(String name, Tensor tensor) {
        if (isConfined(tensor)) {
            throw new IllegalArgumentException(
                    """
                    '%s' lies in a confined arena, which only the thread that opened it may use
                    Allocate it in a shared or automatic arena, or use a synchronous call for one tensor."""
                            .formatted(name));
        }
    }

    static boolean isConfined(Tensor tensor) {
        return tensor.device().isHost() && !tensor.segment().isAccessibleBy(OTHER_THREAD);
    }
}
