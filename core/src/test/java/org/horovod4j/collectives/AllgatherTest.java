package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

class AllgatherTest {
    /// The tensors of all ranks, and their concatenation in rank order.
    private record Case(List<Tensor> inputs, Tensor expected) {
        static Case of(int ranks, DataType type, IntToLongFunction rows, long... inner) {
            List<Tensor> inputs =
                    IntStream.range(0, ranks)
                            .mapToObj(rank -> sample(type, rows.applyAsLong(rank), inner, rank))
                            .toList();
            return new Case(inputs, ReferenceCollectives.allgather(inputs));
        }

        private static Tensor sample(DataType type, long rows, long[] inner, int rank) {
            long[] dimensions = new long[1 + inner.length];
            dimensions[0] = rows;
            System.arraycopy(inner, 0, dimensions, 1, inner.length);
            return SampleTensors.of(type, Shape.of(dimensions), ReduceOp.SUM, rank);
        }
    }

    private static void checkAll(Layout layout, List<Case> cases) {
        layout.world()
                .run(
                        comm -> {
                            for (Case each : cases) {
                                Tensor input = each.inputs.get(comm.rank());
                                assertThat(comm.allgather("gathered", input))
                                        .isBitwiseEqualTo(each.expected);
                            }
                        });
    }

    @EveryLayout
    void tensorsOfEveryTypeAreJoinedInRankOrder(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : DataType.values()) {
            cases.add(Case.of(layout.size(), type, _ -> 7, 3));
        }
        checkAll(layout, cases);
    }

    @EveryLayout
    void theFirstDimensionMayDifferAndBeZero(Layout layout) {
        int ranks = layout.size();
        checkAll(
                layout,
                List.of(
                        Case.of(ranks, DataType.FLOAT32, rank -> rank + 1, 5),
                        Case.of(ranks, DataType.FLOAT32, rank -> rank % 2 == 0 ? 0 : 3, 2, 2),
                        Case.of(ranks, DataType.INT64, rank -> rank == ranks - 1 ? 1 : 0),
                        Case.of(ranks, DataType.INT64, _ -> 0, 4),
                        Case.of(ranks, DataType.INT64, _ -> 2, 0),
                        Case.of(ranks, DataType.UINT8, rank -> rank % 3 == 0 ? 16_001 : 9),
                        Case.of(ranks, DataType.UINT8, rank -> 10_007L * (rank % 3))));
    }

    @FewLayouts
    void largeTensorsAreJoined(Layout layout) {
        checkAll(
                layout,
                List.of(
                        Case.of(layout.size(), DataType.FLOAT32, _ -> 1_000_003),
                        Case.of(layout.size(), DataType.INT16, rank -> 700_001L * rank)));
    }

    @FewLayouts
    void concurrentAllgathersReturnTheirOwnResults(Layout layout) {
        List<Case> cases =
                IntStream.range(0, 30)
                        .mapToObj(
                                i ->
                                        Case.of(
                                                layout.size(),
                                                DataType.INT32,
                                                rank -> (rank + i) % 5 * 11L,
                                                1 + i % 3))
                        .toList();
        layout.world()
                .run(
                        comm -> {
                            List<Handle<Tensor>> handles = new ArrayList<>();
                            for (int i = 0; i < cases.size(); i++) {
                                Tensor input = cases.get(i).inputs.get(comm.rank());
                                handles.add(comm.allgatherAsync("tensor " + i, input));
                            }
                            for (int i = 0; i < cases.size(); i++) {
                                assertThat(handles.get(i).join())
                                        .isBitwiseEqualTo(cases.get(i).expected);
                            }
                        });
    }

    @Test
    void scalarIsRejectedWithAdvice() {
        World.run(
                2,
                comm -> {
                    Tensor scalar = Tensor.zeros(DataType.FLOAT32, Shape.SCALAR);
                    assertThatThrownBy(() -> comm.allgather("loss", scalar))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("allgather of 'loss'")
                            .hasMessageContaining("reshape");
                    Tensor reshaped = comm.allgather("loss", scalar.reshape(1));
                    assertThat(reshaped.shape()).isEqualTo(Shape.of(2));
                });
    }
}
