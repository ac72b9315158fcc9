package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.ShutDownException;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.compression.TopK;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/// Ranks with less data than others join early, and every operation of the others stays defined.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a hang would never end
class JoinTest {
    private static Tensor filled(int value) {
        int[] values = new int[17];
        Arrays.fill(values, value);
        return Tensor.of(values);
    }

    /// Two tensors that are fused, requested in full the first time and from the cache the second.
    private static void fused(Communicator comm, int contributing) {
        for (int i = 0; i < 3; i++) {
            Handle<Tensor> a = comm.allreduceAsync("a", filled(1), ReduceOp.SUM);
            Handle<Tensor> b = comm.allreduceAsync("b", filled(2), ReduceOp.SUM);
            assertThat(a.join().toIntArray()).containsOnly(contributing);
            assertThat(b.join().toIntArray()).containsOnly(2 * contributing);
        }
    }

    @MultiRankLayouts
    void otherRanksContinueAfterARankJoins(Layout layout) {
        for (boolean cached : new boolean[] {false, true}) {
            for (int first = 0; first < layout.size(); first++) {
                int joins = first;
                List<Integer> last =
                        layout.world()
                                .call(
                                        comm -> {
                                            if (cached) {
                                                fused(comm, comm.size());
                                            }
                                            if (comm.rank() != joins) {
                                                fused(comm, comm.size() - 1);
                                            }
                                            return comm.join();
                                        });
                assertThat(last).doesNotContain(joins).containsOnly(last.getFirst());
            }
        }
    }

    @MultiRankLayouts
    void joinEndsALockedPlanAndAnotherMayBeLockedAfterwards(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int joins = 0; joins < comm.size(); joins++) {
                                for (int i = 0; i < 3; i++) {
                                    fused(comm, comm.size());
                                }
                                if (comm.rank() != joins) {
                                    fused(comm, comm.size() - 1);
                                }
                                assertThat(comm.join()).isNotEqualTo(joins);
                            }
                        });
    }

    @MultiRankLayouts
    void whatWasSubmittedBeforeJoinCounts(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int i = 0; i < 40; i++) {
                                Handle<Tensor> a =
                                        comm.allreduceAsync("a", filled(1), ReduceOp.SUM);
                                Handle<Tensor> b =
                                        comm.allreduceAsync("b", filled(1), ReduceOp.SUM);
                                if (comm.rank() > 0) {
                                    b.join();
                                }
                                comm.join();
                                assertThat(a.join().toIntArray()).containsOnly(comm.size());
                                assertThat(b.join().toIntArray()).containsOnly(comm.size());
                            }
                        });
    }

    @MultiRankLayouts
    void reductionsIgnoreJoinedRanks(Layout layout) {
        int joins = layout.size() - 1;
        layout.world()
                .run(
                        comm -> {
                            if (comm.rank() != joins) {
                                for (DataType type : DataType.values()) {
                                    reductions(comm, type, joins);
                                }
                            }
                            comm.join();
                        });
    }

    private static void reductions(Communicator comm, DataType type, int joined) {
        Shape shape = Shape.of(7, 3);
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT)) {
            List<Tensor> live = SampleTensors.forRanks(joined, type, shape, op, type.ordinal());
            Tensor mine = SampleTensors.copy(live.get(comm.rank()));
            comm.allreduce("reduced", mine, op);
            assertThat(mine)
                    .as("%s %s", type, op)
                    .isBitwiseEqualTo(ReferenceCollectives.allreduce(live, op, Scale.NONE));
        }
        List<Tensor> live = SampleTensors.forRanks(joined, type, shape, ReduceOp.SUM, 9);
        Tensor reduced = ReferenceCollectives.allreduce(live, ReduceOp.SUM, Scale.NONE);
        assertThat(comm.reducescatter("scattered", live.get(comm.rank()), ReduceOp.SUM))
                .isBitwiseEqualTo(
                        ReferenceCollectives.reducescatterPart(reduced, comm.rank(), comm.size()));
    }

    @MultiRankLayouts
    void allgatherAndAlltoallSkipJoinedRanks(Layout layout) {
        int joins = layout.size() - 1;
        layout.world()
                .run(
                        comm -> {
                            if (comm.rank() != joins) {
                                moves(comm, joins);
                            }
                            comm.join();
                        });
    }

    private static void moves(Communicator comm, int joined) {
        int[] live = IntStream.range(0, joined).toArray();
        Tensor mine = Tensor.of(new int[] {comm.rank()});
        assertThat(comm.allgather("gathered", mine).toIntArray()).isEqualTo(live);
        int[] everybody = new int[comm.size()];
        Arrays.fill(everybody, comm.rank());
        AlltoallResult alltoallResult =
                comm.alltoall("exchanged", Tensor.of(everybody), AlltoallOptions.equalSplits());
        assertThat(alltoallResult.tensor().toIntArray()).isEqualTo(live);
        assertThat(comm.broadcast("sent", mine, 0).toIntArray()).containsExactly(0);
        comm.barrier();
        assertThatThrownBy(() -> comm.broadcast("sent", mine, joined))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("root rank " + joined + " has joined");
        assertThatThrownBy(
                        () ->
                                comm.allreduce(
                                        "scaled",
                                        mine,
                                        AllreduceOptions.of(ReduceOp.PRODUCT).withPrescale(2)))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("prescaled by 2.0");
        assertThat(comm.broadcast("sent", mine, 0).toIntArray()).containsExactly(0);
    }

    /// Collectives that are built from gathers: rows, a dense tensor and the largest values.
    @ParameterizedTest(name = "{0}: {1}")
    @CsvSource({"all, 2", "live, 3"})
    void sparseAndCompressedAveragesCountTheSameRanks(String counted, float average) {
        World.of(3)
                .with(Map.of("HOROVOD_JOIN_AVERAGE", counted))
                .run(
                        comm -> {
                            TopK topK = TopK.ratio(0.5);
                            if (comm.rank() != 1) {
                                assertAverages(comm, topK, 2, average);
                            }
                            comm.join();
                            assertAverages(comm, topK, 3, 3);
                        });
    }

    private static void assertAverages(
            Communicator comm, TopK topK, int contributors, float average) {
        SparseTensor row = threes(Shape.of(9, 2), 4);
        assertThat(comm.sparseAllreduce("rows", row, ReduceOp.AVERAGE))
                .isInstanceOfSatisfying(
                        SparseResult.Rows.class,
                        rows ->
                                assertThat(rows.rows().values().toFloatArray())
                                        .containsExactly(average, average));
        SparseTensor most = threes(Shape.of(2, 2), 0, 1);
        assertThat(comm.sparseAllreduce("whole", most, ReduceOp.AVERAGE))
                .isInstanceOfSatisfying(
                        SparseResult.Dense.class,
                        dense -> assertThat(dense.tensor().toFloatArray()).containsOnly(average));
        topK.reset();
        Tensor values = Tensor.of(new float[] {0, 3});
        assertThat(
                        comm.allreduce(
                                        "largest",
                                        values,
                                        AllreduceOptions.average().withCompressor(topK))
                                .toFloatArray())
                .containsExactly(0, average);
        Tensor sum = Tensor.of(new double[] {6});
        comm.allreduce("sum", sum, AllreduceOptions.sum().withCompressor(topK));
        assertThat(sum.toDoubleArray()).containsExactly(6 * contributors);
    }

    private static SparseTensor threes(Shape dense, int... indices) {
        float[] values = new float[indices.length * 2];
        Arrays.fill(values, 3);
        return new SparseTensor(Tensor.of(indices), Tensor.of(values, indices.length, 2), dense);
    }

    @ParameterizedTest(name = "{0}: {1}")
    @CsvSource({"all, 2", "live, 3"})
    void anAverageCountsAllRanksOrTheLiveOnes(String counted, float average) {
        World.of(3)
                .with(Map.of("HOROVOD_JOIN_AVERAGE", counted))
                .run(
                        comm -> {
                            if (comm.rank() > 0) {
                                float[] values = {3, 3};
                                comm.allreduce("mean", values, ReduceOp.AVERAGE);
                                assertThat(values).containsOnly(average);
                                Tensor rows = Tensor.of(new float[] {3, 3, 3});
                                assertThat(
                                                comm.reducescatter("rows", rows, ReduceOp.AVERAGE)
                                                        .toFloatArray())
                                        .containsOnly(average);
                            }
                            comm.join();
                        });
    }

    @MultiRankLayouts
    void mismatchFailsOnlyRanksThatHaveNotJoined(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int last = comm.size() - 1;
                            if (comm.rank() != 0 && last > 1) {
                                Tensor tensor =
                                        Tensor.zeros(
                                                DataType.INT8, Shape.of(comm.rank() == 1 ? 3 : 4));
                                assertThatThrownBy(() -> comm.allreduce("t", tensor, ReduceOp.SUM))
                                        .isInstanceOf(MismatchException.class)
                                        .hasMessageContaining("[3] on rank 1");
                            }
                            comm.join();
                            fused(comm, comm.size());
                        });
    }

    @Test
    void joinedRankCannotSubmitUntilAllJoin() {
        CountDownLatch refused = new CountDownLatch(1);
        World.run(
                2,
                comm -> {
                    if (comm.rank() == 0) {
                        refused.await();
                        comm.join();
                    } else {
                        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
                            Future<Integer> joining = thread.submit(comm::join);
                            while (!comm.describeState().contains("has joined")) {
                                Thread.onSpinWait();
                            }
                            assertThatThrownBy(() -> comm.allreduce("t", filled(1), ReduceOp.SUM))
                                    .isInstanceOf(IllegalStateException.class)
                                    .hasMessageContaining("has joined");
                            assertThatThrownBy(comm::join)
                                    .isInstanceOf(IllegalStateException.class);
                            refused.countDown();
                            assertThat(joining.get()).isBetween(0, 1);
                        }
                    }
                    fused(comm, 2);
                });
    }

    @MultiRankLayouts
    void joinEndsWhenARankLeaves(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            comm.barrier();
                            if (comm.rank() == comm.size() - 1) {
                                comm.close();
                            }
                            assertThatThrownBy(comm::join).isInstanceOf(ShutDownException.class);
                        });
    }

    @Test
    void aRankAloneIsTheLastToJoin() {
        World.run(1, comm -> assertThat(comm.join()).isZero());
    }
}
