package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/// Runs every collective at least once, and compares the result with a loop over all ranks.
///
/// Values are small whole numbers: every order of addition gives the exact sum.
record AllCollectives(Communicator comm) {
    /// No element, few, many, and more than a stage of shared memory holds.
    private static final int[] LENGTHS = {0, 1, 7, 10_007, 300_007};

    private static final int COLUMNS = 3;

    void run() {
        reductions();
        scaled();
        inSharedMemory();
        queued();
        grouped();
        gathered();
        broadcast();
        exchanged();
        scattered();
        objects();
        comm.barrier();
    }

    private void reductions() {
        for (int length : LENGTHS) {
            float[] sum = ramp(length, comm.rank());
            comm.allreduce("sum " + length, sum, ReduceOp.SUM);
            assertThat(sum).isEqualTo(sumOfRamps(length));
        }
        int[] average = {10 * comm.rank(), -3};
        comm.allreduce("average", Tensor.of(average), ReduceOp.AVERAGE);
        assertThat(average).containsExactly(10 * sumOfRanks() / comm.size(), -3);
        double[] least = {comm.rank(), -comm.rank()};
        comm.allreduce("min", least, ReduceOp.MIN);
        assertThat(least).containsExactly(0, 1 - comm.size());
        long[] greatest = {comm.rank(), -comm.rank()};
        comm.allreduce("max", Tensor.of(greatest), ReduceOp.MAX);
        assertThat(greatest).containsExactly(comm.size() - 1, 0);
        double[] product = {2, comm.rank()};
        comm.allreduce("product", product, ReduceOp.PRODUCT);
        assertThat(product).containsExactly(Math.pow(2, comm.size()), 0);
    }

    private void scaled() {
        float[] input = {comm.rank(), 1};
        float[] output = new float[2];
        comm.allreduce(
                "scaled",
                Tensor.of(input),
                Tensor.of(output),
                AllreduceOptions.sum().withPrescale(2).withPostscale(0.5));
        assertThat(output).containsExactly(sumOfRanks(), comm.size());
        assertThat(input).as("the input").containsExactly(comm.rank(), 1);
    }

    private void inSharedMemory() {
        Tensor tensor = comm.allocate(DataType.FLOAT32, Shape.of(10_007));
        for (int step = 1; step <= 3; step++) {
            for (int i = 0; i < tensor.elementCount(); i++) {
                tensor.segment().setAtIndex(ValueLayout.JAVA_FLOAT, i, step * comm.rank());
            }
            comm.allreduce("shared", tensor, ReduceOp.SUM);
            float[] expected = new float[10_007];
            Arrays.fill(expected, step * sumOfRanks());
            assertThat(tensor.toFloatArray()).isEqualTo(expected);
        }
    }

    private void queued() {
        List<Handle<Tensor>> handles = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Tensor tensor = Tensor.of(ramp(100 * i, comm.rank()));
            handles.add(comm.allreduceAsync("queued " + i, tensor, ReduceOp.SUM));
        }
        for (int i = 0; i < 20; i++) {
            assertThat(handles.get(i).join().toFloatArray()).isEqualTo(sumOfRamps(100 * i));
        }
    }

    private void grouped() {
        List<Tensor> tensors =
                IntStream.range(0, 5).mapToObj(i -> Tensor.of(ramp(i, comm.rank()))).toList();
        comm.groupedAllreduce("group", tensors, ReduceOp.SUM);
        for (int i = 0; i < 5; i++) {
            assertThat(tensors.get(i).toFloatArray()).isEqualTo(sumOfRamps(i));
        }
    }

    /// Rank r contributes r rows, so rank 0 contributes none.
    private void gathered() {
        int[] mine = new int[comm.rank() * COLUMNS];
        Arrays.fill(mine, comm.rank());
        Tensor all = comm.allgather("ragged", Tensor.of(mine, comm.rank(), COLUMNS));
        int[] expected =
                everyRank()
                        .flatMap(r -> IntStream.generate(() -> r).limit((long) r * COLUMNS))
                        .toArray();
        assertThat(all.shape()).isEqualTo(Shape.of(sumOfRanks(), COLUMNS));
        assertThat(all.toIntArray()).isEqualTo(expected);
    }

    private void broadcast() {
        for (int root = 0; root < comm.size(); root++) {
            float[] values = ramp(10_007, comm.rank());
            comm.broadcast("from " + root, Tensor.of(values), root);
            assertThat(values).isEqualTo(ramp(10_007, root));
        }
    }

    /// Rank r sends s rows to rank s. All their values are r.
    private void exchanged() {
        int[] splits = everyRank().toArray();
        int[] mine = new int[sumOfRanks()];
        Arrays.fill(mine, comm.rank());
        AlltoallResult alltoallResult =
                comm.alltoall("ragged exchange", Tensor.of(mine), AlltoallOptions.splits(splits));
        int[] fromEach = new int[comm.size()];
        Arrays.fill(fromEach, comm.rank());
        assertThat(alltoallResult.receivedSplits()).isEqualTo(fromEach);
        assertThat(alltoallResult.tensor().toIntArray())
                .isEqualTo(
                        everyRank()
                                .flatMap(r -> IntStream.generate(() -> r).limit(comm.rank()))
                                .toArray());
        Tensor even = comm.alltoall("even exchange", Tensor.of(ramp(comm.size(), comm.rank())));
        for (int r = 0; r < comm.size(); r++) {
            assertThat(even.toFloatArray()[r]).isEqualTo(value(comm.rank(), r));
        }
    }

    /// One row more than ranks: rank 0 receives two.
    private void scattered() {
        int rows = comm.size() + 1;
        Tensor mine = Tensor.of(ramp(rows, comm.rank()));
        Tensor share = comm.reducescatter("scatter", mine, ReduceOp.SUM);
        int from = comm.rank() == 0 ? 0 : comm.rank() + 1;
        assertThat(share.toFloatArray())
                .isEqualTo(Arrays.copyOfRange(sumOfRamps(rows), from, comm.rank() + 2));
    }

    private void objects() {
        Map<String, List<Integer>> mine = Map.of("rank", List.of(comm.rank()));
        assertThat(comm.broadcastObject("object", mine, comm.size() - 1))
                .isEqualTo(Map.of("rank", List.of(comm.size() - 1)));
        assertThat(comm.allgatherObject("objects", "rank " + comm.rank()))
                .isEqualTo(everyRank().mapToObj(r -> "rank " + r).toList());
    }

    private IntStream everyRank() {
        return IntStream.range(0, comm.size());
    }

    private int sumOfRanks() {
        return everyRank().sum();
    }

    private static int value(int index, int rank) {
        return index % 13 + rank;
    }

    private static float[] ramp(int length, int rank) {
        float[] ramp = new float[length];
        for (int i = 0; i < length; i++) {
            ramp[i] = value(i, rank);
        }
        return ramp;
    }

    private float[] sumOfRamps(int length) {
        float[] sum = new float[length];
        for (int rank = 0; rank < comm.size(); rank++) {
            for (int i = 0; i < length; i++) {
                sum[i] += value(i, rank);
            }
        }
        return sum;
    }
}
