package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
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
import java.util.Arrays;
import java.util.List;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;

class AlltoallTest {
    /// The rows that each rank sends to each other rank: `splits[source][target]`.
    private static final class Case {
        private final int[][] splits;
        private final List<Tensor> inputs;

        private Case(int[][] splits, List<Tensor> inputs) {
            this.splits = splits;
            this.inputs = inputs;
        }

        static Case of(int ranks, DataType type, IntBinaryOperator rows, long rowElements) {
            int[][] splits = new int[ranks][];
            List<Tensor> inputs = new ArrayList<>();
            for (int source = 0; source < ranks; source++) {
                int from = source;
                splits[source] =
                        IntStream.range(0, ranks).map(to -> rows.applyAsInt(from, to)).toArray();
                Shape shape = Shape.of(Arrays.stream(splits[source]).sum(), rowElements);
                inputs.add(SampleTensors.of(type, shape, ReduceOp.SUM, source));
            }
            return new Case(splits, inputs);
        }

        void check(Communicator communicator) {
            int rank = communicator.rank();
            AlltoallResult alltoallResult =
                    communicator.alltoall(
                            "t", inputs.get(rank), AlltoallOptions.splits(splits[rank]));
            assertThat(alltoallResult.tensor())
                    .isBitwiseEqualTo(ReferenceCollectives.alltoall(inputs, splits, rank));
            assertThat(alltoallResult.receivedSplits())
                    .containsExactly(Arrays.stream(splits).mapToInt(row -> row[rank]).toArray());
        }
    }

    private static void checkAll(Layout layout, List<Case> cases) {
        layout.world().run(comm -> cases.forEach(each -> each.check(comm)));
    }

    @EveryLayout
    void eachRankReceivesItsRowsOfEveryRankInRankOrder(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : DataType.values()) {
            cases.add(Case.of(layout.size(), type, (from, to) -> from + 2 * to + 1, 3));
        }
        checkAll(layout, cases);
    }

    @EveryLayout
    void someMaySendOrReceiveNothing(Layout layout) {
        int ranks = layout.size();
        DataType type = DataType.FLOAT32;
        checkAll(
                layout,
                List.of(
                        Case.of(ranks, type, (_, _) -> 0, 2),
                        Case.of(ranks, type, (_, _) -> 3, 0),
                        Case.of(ranks, type, (from, to) -> from == 0 ? 0 : to + 1, 2),
                        Case.of(ranks, type, (from, to) -> to == 0 ? 0 : from + 1, 2),
                        Case.of(ranks, type, (from, _) -> from % 2 == 0 ? 0 : 5, 2),
                        Case.of(ranks, type, (from, to) -> from == to ? 1 : 0, 1)));
    }

    @FewLayouts
    void longAndUnequalPiecesArrive(Layout layout) {
        int ranks = layout.size();
        checkAll(
                layout,
                List.of(
                        Case.of(ranks, DataType.FLOAT32, (from, to) -> 100_003 * from + to, 1),
                        Case.of(ranks, DataType.UINT8, (_, to) -> to == 0 ? 1_000_003 : 1, 1),
                        Case.of(ranks, DataType.INT64, (_, _) -> 10_007, 7)));
    }

    @FewLayouts
    void withoutSplitsEachRankGetsAnEqualShare(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int[] rows =
                                    IntStream.range(0, 2 * comm.size())
                                            .map(row -> 100 * comm.rank() + row)
                                            .toArray();
                            int first = 2 * comm.rank();
                            int[] expected =
                                    IntStream.range(0, 2 * comm.size())
                                            .map(row -> 100 * (row / 2) + first + row % 2)
                                            .toArray();
                            assertThat(comm.alltoall("rows", Tensor.of(rows)).toIntArray())
                                    .containsExactly(expected);
                        });
    }

    @FewLayouts
    void rowsBeyondTheSplitsAreNotSent(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            Tensor rows =
                                    SampleTensors.of(DataType.INT8, Shape.of(40), ReduceOp.SUM, 1);
                            int[] ones = IntStream.generate(() -> 1).limit(comm.size()).toArray();
                            AlltoallResult alltoallResult =
                                    comm.alltoall("rows", rows, AlltoallOptions.splits(ones));
                            assertThat(alltoallResult.tensor().shape())
                                    .isEqualTo(Shape.of(comm.size()));
                            assertThat(alltoallResult.receivedSplits()).containsExactly(ones);
                        });
    }

    @Test
    void invalidSplitsFailOnTheCallingRank() {
        World.run(
                2,
                comm -> {
                    Tensor three = Tensor.of(new float[] {1, 2, 3});
                    refuses(
                            comm,
                            three,
                            AlltoallOptions.equalSplits(),
                            "3 rows cannot be divided equally among 2 ranks");
                    refuses(
                            comm,
                            three,
                            AlltoallOptions.splits(1, 1, 1),
                            "3 splits given for 2 ranks");
                    refuses(
                            comm,
                            three,
                            AlltoallOptions.splits(2, 2),
                            "ask for 4 rows, but it has 3");
                    refuses(comm, three, AlltoallOptions.splits(4, -1), "split -1 is negative");
                    Tensor scalar = Tensor.zeros(DataType.FLOAT32, Shape.SCALAR);
                    refuses(comm, scalar, AlltoallOptions.splits(0, 0), "a scalar has none");
                    int[] all = {Integer.MAX_VALUE, Integer.MAX_VALUE};
                    refuses(comm, three, AlltoallOptions.splits(all), "ask for 4294967294 rows");
                    assertThat(
                                    comm.alltoall("rows", three, AlltoallOptions.splits(1, 2))
                                            .tensor()
                                            .shape())
                            .isEqualTo(Shape.of(comm.rank() == 0 ? 2 : 4));
                });
    }

    private static void refuses(
            Communicator communicator, Tensor tensor, AlltoallOptions options, String reason) {
        assertThatThrownBy(() -> communicator.alltoall("rows", tensor, options))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("alltoall of 'rows'")
                .hasMessageContaining(reason);
    }
}
