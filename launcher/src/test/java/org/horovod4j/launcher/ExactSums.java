package org.horovod4j.launcher;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// A rank that sums tensors of several sizes, and prints the sizes whose sums are exact. The values
/// are whole numbers, so the order of additions does not matter.
///
/// With the name of a file it repeats a sum until that file exists, and fails if one is not exact.
final class ExactSums {
    private static final List<Integer> LENGTHS = List.of(1, 2, 7, 1000, 65_536, 1_000_003);
    private static final int STEP_LENGTH = 20_011;
    private static final int STEPS_PER_LINE = 200;

    private ExactSums() {}

    public static void main(String[] arguments) {
        Hvd.init();
        if (arguments.length == 0) {
            IO.println("exact: " + LENGTHS.stream().filter(ExactSums::isExact).toList());
        } else {
            repeatUntilExists(Path.of(arguments[0]));
            IO.println("all exact");
        }
        Hvd.shutdown();
    }

    private static void repeatUntilExists(Path end) {
        float[] ended = {0};
        for (int step = 1; ended[0] == 0; step++) {
            if (!isExact(STEP_LENGTH)) {
                throw new IllegalStateException("the sum of step %d is wrong".formatted(step));
            }
            if (Hvd.rank() == 0 && step % STEPS_PER_LINE == 0) {
                IO.println("step=" + step);
            }
            ended[0] = Hvd.rank() == 0 && Files.exists(end) ? 1 : 0;
            Hvd.allreduce("ended", ended, ReduceOp.SUM);
        }
    }

    private static boolean isExact(int length) {
        float[] tensor = new float[length];
        for (int i = 0; i < length; i++) {
            tensor[i] = value(Hvd.rank(), i);
        }
        Hvd.allreduce("tensor" + length, tensor, ReduceOp.SUM);
        return isSum(tensor, Hvd.size());
    }

    private static float value(int rank, int index) {
        return (rank + 1) * (index % 101);
    }

    private static boolean isSum(float[] tensor, int size) {
        for (int i = 0; i < tensor.length; i++) {
            float sum = 0;
            for (int rank = 0; rank < size; rank++) {
                sum += value(rank, i);
            }
            if (tensor[i] != sum) {
                return false;
            }
        }
        return true;
    }
}
