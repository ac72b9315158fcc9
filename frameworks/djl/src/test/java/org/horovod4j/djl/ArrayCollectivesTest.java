package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.testing.World;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

/// Three ranks as threads: rank r has arrays that depend on r.
class ArrayCollectivesTest {
    private static final int SIZE = 3;

    private interface RankTest {
        void run(Communicator comm, ArrayCollectives collectives, NDManager manager);
    }

    private static void run(String engine, RankTest test) {
        World.run(
                SIZE,
                comm -> {
                    try (NDManager manager = NDManager.newBaseManager(Device.cpu(), engine)) {
                        test.run(comm, new ArrayCollectives(comm), manager);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void allreduceReturnsNewArray(String engine) {
        run(
                engine,
                (comm, collectives, manager) -> {
                    int factor = comm.rank() + 1;
                    NDArray array = manager.arange(6f).reshape(2, 3).mul(factor);
                    NDArray sum = collectives.allreduce("sum", array, ReduceOp.SUM);
                    assertThat(sum.getShape()).isEqualTo(new Shape(2, 3));
                    assertThat(sum.toFloatArray()).containsExactly(0, 6, 12, 18, 24, 30);
                    assertThat(array.toFloatArray())
                            .containsExactly(
                                    0, factor, 2 * factor, 3 * factor, 4 * factor, 5 * factor);

                    NDArray columns = array.transpose(); // not contiguous with PyTorch
                    assertThat(collectives.allreduce("t", columns, ReduceOp.MAX).toFloatArray())
                            .containsExactly(0, 9, 3, 12, 6, 15);
                });
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void asynchronousOperationsOverlap(String engine) {
        run(
                engine,
                (comm, collectives, manager) -> {
                    NDArray a = manager.create(new float[] {comm.rank(), 1});
                    NDArray b = manager.create(new int[] {10 * comm.rank()});
                    Handle<NDArray> sum = collectives.allreduceAsync("a", a, ReduceOp.SUM);
                    Handle<NDArray> doubled =
                            collectives.allreduceAsync(
                                    "scaled",
                                    a,
                                    AllreduceOptions.of(ReduceOp.SUM).withScale(Scale.after(2)));
                    Handle<NDArray> gathered = collectives.allgatherAsync("b", b);
                    Handle<NDArray> third = collectives.broadcastAsync("c", b, 2);
                    Handle<NDList> group =
                            collectives.groupedAllreduceAsync(
                                    "group", new NDList(a, a.mul(10)), ReduceOp.AVERAGE);

                    assertThat(group.join().get(1).toFloatArray()).containsExactly(10, 10);
                    assertThat(group.join().get(0).toFloatArray()).containsExactly(1, 1);
                    assertThat(third.join().toIntArray()).containsExactly(20);
                    assertThat(gathered.join().toIntArray()).containsExactly(0, 10, 20);
                    assertThat(doubled.join().toFloatArray()).containsExactly(6, 6);
                    assertThat(sum.join().toFloatArray()).containsExactly(3, 3);
                    assertThat(b.toIntArray()).containsExactly(10 * comm.rank());
                });
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void rowsMayDiffer(String engine) {
        run(
                engine,
                (comm, collectives, manager) -> {
                    int rank = comm.rank();
                    NDArray rows = manager.full(new Shape(rank + 1, 2), rank, DataType.FLOAT64);
                    NDArray all = collectives.allgather("all", rows);
                    assertThat(all.getShape()).isEqualTo(new Shape(6, 2));
                    assertThat(all.toDoubleArray())
                            .containsExactly(0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2);

                    NDArray numbers = manager.arange(6f).add(10 * rank);
                    AlltoallArray received =
                            collectives.alltoall(
                                    "exchange", numbers, AlltoallOptions.splits(1, 2, 3));
                    assertThat(received.receivedSplits())
                            .containsExactly(rank + 1, rank + 1, rank + 1);
                    assertThat(received.array().toFloatArray())
                            .containsExactly(
                                    switch (rank) {
                                        case 0 -> new float[] {0, 10, 20};
                                        case 1 -> new float[] {1, 2, 11, 12, 21, 22};
                                        default -> new float[] {3, 4, 5, 13, 14, 15, 23, 24, 25};
                                    });

                    NDArray part =
                            collectives.reducescatter("part", numbers.get("0:5"), ReduceOp.SUM);
                    assertThat(part.toFloatArray())
                            .containsExactly(
                                    switch (rank) {
                                        case 0 -> new float[] {30, 33};
                                        case 1 -> new float[] {36, 39};
                                        default -> new float[] {42};
                                    });
                });
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void failedCallLeavesNoArrayOpen(String engine) {
        run(
                engine,
                (comm, collectives, manager) -> {
                    NDArray mine =
                            manager.zeros(new Shape(comm.rank() + 1)); // they must not differ
                    List<Handle<?>> handles =
                            List.of(
                                    collectives.allreduceAsync("sum", mine, ReduceOp.SUM),
                                    collectives.groupedAllreduceAsync(
                                            "group", new NDList(mine, mine), ReduceOp.SUM),
                                    collectives.broadcastAsync("root", mine, 0));
                    for (Handle<?> handle : handles) {
                        assertThatExceptionOfType(MismatchException.class).isThrownBy(handle::join);
                    }
                    assertThatExceptionOfType(IllegalArgumentException.class)
                            .isThrownBy(() -> collectives.broadcast("no root", mine, SIZE));
                    assertThat(manager.getManagedArrays()).containsExactly(mine);
                });
    }
}
