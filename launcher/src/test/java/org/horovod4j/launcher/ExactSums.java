package org.horovod4j.launcher;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.util.ArrayList;
import java.util.List;

/// A rank that sums tensors of several sizes, and prints the sizes whose sums are exact. The values
/// are whole numbers, so the order of additions does not matter.
final class ExactSums {
    private static final List<Integer> LENGTHS = List.of(1, 2, 7, 1000, 65_536, 1_000_003);

    private ExactSums() {}

    public static void main(String[] arguments) {
        Hvd.init();
        List<Integer> exact = new ArrayList<>();
        for (int length : LENGTHS) {
            float[] tensor = new float[length];
            for (int i = 0; i < length; i++) {
                tensor[i] = value(Hvd.rank(), i);
            }
            Hvd.allreduce("tensor" + length, tensor, ReduceOp.SUM);
            if (isSum(tensor, Hvd.size())) {
                exact.add(length);
            }
        }
        IO.println("exact: " + exact);
        Hvd.shutdown();
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
