package org.horovod4j.sparse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

class SparseAllreduceTest {
    private static final long SEED = 40;
    private static final SparseAllreduce ALWAYS_DENSE = new SparseAllreduce(0);
    private static final SparseAllreduce NEVER_DENSE =
            new SparseAllreduce(Double.POSITIVE_INFINITY);

    /// Random rows for each rank, with many duplicates. Some ranks have no rows.
    private static List<SparseTensor> inputs(int ranks, DataType type, Shape dense) {
        SplittableRandom random = new SplittableRandom(SEED);
        List<SparseTensor> inputs = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int count = rank % 3 == 1 ? 0 : random.nextInt(1, 40);
            long[] indices = random.longs(count, 0, dense.dimension(0)).toArray();
            Tensor values =
                    SampleTensors.of(type, dense.withRows(count), ReduceOp.SUM, SEED + rank);
            inputs.add(new SparseTensor(Tensor.of(indices), values, dense));
        }
        return inputs;
    }

    /// The reference: adds the rows of every rank to a dense tensor.
    private static Tensor expected(List<SparseTensor> inputs, ReduceOp op) {
        SparseTensor like = inputs.getFirst();
        List<Tensor> wholes = new ArrayList<>();
        for (SparseTensor input : inputs) {
            Tensor whole = Tensor.zeros(like.values().dataType(), like.denseShape());
            for (int i = 0; i < input.rowCount(); i++) {
                Tensor place = row(whole, input.index(i));
                Tensor sum =
                        ReferenceCollectives.allreduce(
                                List.of(place, row(input.values(), i)), ReduceOp.SUM, Scale.NONE);
                place.segment().copyFrom(sum.segment());
            }
            wholes.add(whole);
        }
        return ReferenceCollectives.allreduce(wholes, op, Scale.NONE);
    }

    private static Tensor row(Tensor tensor, long index) {
        long bytes = tensor.shape().rowElements() * tensor.dataType().byteSize();
        MemorySegment memory = tensor.segment().asSlice(index * bytes, bytes);
        return Tensor.of(memory, tensor.dataType());
    }

    @FewLayouts
    void sparseAndDensePathsEqualDenseAllreduce(Layout layout) {
        List<List<SparseTensor>> cases = new ArrayList<>();
        for (DataType type :
                List.of(DataType.FLOAT32, DataType.FLOAT64, DataType.BFLOAT16, DataType.INT32)) {
            cases.add(inputs(layout.size(), type, Shape.of(23, 5)));
            cases.add(inputs(layout.size(), type, Shape.of(23)));
            cases.add(inputs(layout.size(), type, Shape.of(101, 2, 3)));
        }
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
            List<Tensor> expected = cases.stream().map(inputs -> expected(inputs, op)).toList();
            layout.world()
                    .run(
                            comm -> {
                                for (int i = 0; i < cases.size(); i++) {
                                    SparseTensor mine = cases.get(i).get(comm.rank());
                                    assertThat(rows(comm, mine, op))
                                            .isBitwiseEqualTo(expected.get(i));
                                    assertThat(whole(comm, mine, op))
                                            .isBitwiseEqualTo(expected.get(i));
                                    assertThat(comm.sparseAllreduce("t", mine, op).toDense())
                                            .isBitwiseEqualTo(expected.get(i));
                                }
                            });
        }
    }

    private static Tensor rows(Communicator comm, SparseTensor tensor, ReduceOp op) {
        SparseResult result = NEVER_DENSE.allreduceAsync(comm, "rows", tensor, op).join();
        // An average of integers is always dense.
        boolean dense = op == ReduceOp.AVERAGE && tensor.values().dataType() == DataType.INT32;
        assertThat(result).isInstanceOf(dense ? SparseResult.Dense.class : SparseResult.Rows.class);
        return result.toDense();
    }

    private static Tensor whole(Communicator comm, SparseTensor tensor, ReduceOp op) {
        SparseResult result = ALWAYS_DENSE.allreduceAsync(comm, "whole", tensor, op).join();
        // A result without rows stays sparse.
        if (result instanceof SparseResult.Rows(SparseTensor rows)) {
            assertThat(rows.rowCount()).isZero();
        }
        return result.toDense();
    }

    private static SparseTensor ones(Shape dense, long... indices) {
        float[] values = new float[Math.toIntExact(dense.withRows(indices.length).elementCount())];
        Arrays.fill(values, 1);
        return new SparseTensor(
                Tensor.of(indices),
                Tensor.of(
                        MemorySegment.ofArray(values),
                        DataType.FLOAT32,
                        dense.withRows(indices.length)),
                dense);
    }

    @FewLayouts
    void duplicateIndicesAreCoalescedInAscendingOrder(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            SparseTensor mine = ones(Shape.of(1_000), 900 + comm.rank(), 7, 7, 2);
                            SparseTensor sum =
                                    rowsOf(comm.sparseAllreduce("t", mine, ReduceOp.SUM));
                            long[] indices =
                                    IntStream.range(-2, comm.size())
                                            .mapToLong(i -> i == -2 ? 2 : i == -1 ? 7 : 900 + i)
                                            .toArray();
                            float[] values = new float[indices.length];
                            Arrays.fill(values, 1);
                            values[0] = comm.size();
                            values[1] = 2 * comm.size();
                            assertThat(sum.indices().toLongArray()).isEqualTo(indices);
                            assertThat(sum.values().toFloatArray()).isEqualTo(values);
                            assertThat(mine.values().toFloatArray()).containsExactly(1, 1, 1, 1);
                        });
    }

    private static SparseTensor rowsOf(SparseResult result) {
        return switch (result) {
            case SparseResult.Rows(SparseTensor rows) -> rows;
            case SparseResult.Dense(Tensor whole) ->
                    throw new AssertionError("expected rows, not the whole " + whole);
        };
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void moreRowsThanDenseShapeSwitchesToDense(int size) {
        int most = 12 / size; // each rank's share of 12 rows
        World.run(
                size,
                comm -> {
                    for (int count : new int[] {most, most + 1}) {
                        long[] indices = IntStream.range(0, count).asLongStream().toArray();
                        SparseResult result =
                                comm.sparseAllreduce(
                                        "t", ones(Shape.of(12), indices), ReduceOp.SUM);
                        Class<?> kind =
                                count * size <= 12
                                        ? SparseResult.Rows.class
                                        : SparseResult.Dense.class;
                        assertThat(result).isInstanceOf(kind);
                        float[] sums = new float[12];
                        Arrays.fill(sums, 0, count, size);
                        assertThat(result.toDense().toFloatArray()).isEqualTo(sums);
                        if (count == 12) {
                            return; // a rank cannot have more than all rows
                        }
                    }
                });
    }

    @Test
    void duplicateRowsDoNotCountTowardsDenseThreshold() {
        World.run(
                2,
                comm -> {
                    SparseTensor mine = ones(Shape.of(4, 3), 1, 1, 1, 1, 1, 1, 3);
                    SparseTensor sum = rowsOf(comm.sparseAllreduce("t", mine, ReduceOp.AVERAGE));
                    assertThat(sum.values().toFloatArray()).containsExactly(6, 6, 6, 1, 1, 1);
                });
    }

    @FewLayouts
    void ranksWithoutRowsParticipate(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            Shape dense = Shape.of(9, 2);
                            SparseTensor none = ones(dense);
                            SparseTensor nothing =
                                    rowsOf(comm.sparseAllreduce("t", none, ReduceOp.AVERAGE));
                            assertThat(nothing.values().shape()).isEqualTo(Shape.of(0, 2));
                            assertThat(nothing.indices().dataType()).isEqualTo(DataType.INT64);
                            int last = comm.size() - 1;
                            SparseTensor some = comm.rank() == last ? ones(dense, 8) : none;
                            SparseTensor row =
                                    rowsOf(comm.sparseAllreduce("t", some, ReduceOp.SUM));
                            assertThat(row.indices().toLongArray()).containsExactly(8);
                            assertThat(row.values().toFloatArray()).containsExactly(1, 1);
                        });
    }

    @Test
    void eachRankKeepsItsIndexType() {
        World.run(
                2,
                comm -> {
                    Tensor indices =
                            comm.rank() == 0 ? Tensor.of(new int[] {1}) : Tensor.of(new long[] {1});
                    SparseTensor mine =
                            new SparseTensor(indices, Tensor.of(new int[] {21}), Shape.of(5));
                    SparseTensor sum = rowsOf(comm.sparseAllreduce("t", mine, ReduceOp.SUM));
                    assertThat(sum.indices().dataType()).isEqualTo(indices.dataType());
                    assertThat(sum.index(0)).isEqualTo(1);
                    assertThat(sum.values().toIntArray()).containsExactly(42);
                });
    }

    @Test
    void indicesBeyondIntRangeAreReduced() {
        World.run(
                2,
                comm -> {
                    long far = 5_000_000_000L;
                    SparseTensor mine = ones(Shape.of(far + 2), far + comm.rank(), far);
                    SparseTensor sum = rowsOf(comm.sparseAllreduce("t", mine, ReduceOp.SUM));
                    assertThat(sum.indices().toLongArray()).containsExactly(far, far + 1);
                    assertThat(sum.values().toFloatArray()).containsExactly(3, 1);
                });
    }

    @MultiRankLayouts
    void mismatchFailsOnAllRanksAndTheNextOperationSucceeds(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            boolean odd = comm.rank() == 1;
                            SparseTensor mine = ones(Shape.of(odd ? 10 : 9), 0);
                            assertDisagreement(comm, mine, ReduceOp.SUM, "[10]");
                            ReduceOp op = odd ? ReduceOp.AVERAGE : ReduceOp.SUM;
                            SparseTensor same = ones(Shape.of(9), 0);
                            assertDisagreement(comm, same, op, "AVERAGE");
                            SparseTensor sum =
                                    rowsOf(comm.sparseAllreduce("t", same, ReduceOp.SUM));
                            assertThat(sum.values().toFloatArray()).containsExactly(comm.size());
                        });
    }

    private static void assertDisagreement(
            Communicator comm, SparseTensor mine, ReduceOp op, String value) {
        assertThatThrownBy(() -> comm.sparseAllreduce("t", mine, op))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("sparse allreduce of 't'")
                .hasMessageContaining(value)
                .hasMessageContaining("on ranks [1]");
    }

    @ParameterizedTest
    @EnumSource(names = {"MIN", "MAX", "PRODUCT"})
    void unsupportedReduceOpsAreRejected(ReduceOp op) {
        World.run(
                1,
                comm ->
                        assertThatThrownBy(
                                        () -> comm.sparseAllreduce("t", ones(Shape.of(3), 1), op))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("'t'")
                                .hasMessageContaining("not " + op)
                                .hasMessageContaining("use a dense tensor"));
    }

    @Test
    void boolAverageAndConfinedMemoryAreRejected() {
        World.run(
                1,
                comm -> {
                    Tensor index = Tensor.of(new int[] {0});
                    Tensor truth = Tensor.of(new byte[] {1}, DataType.BOOL);
                    SparseTensor bool = new SparseTensor(index, truth, Shape.of(2));
                    assertThatThrownBy(() -> comm.sparseAllreduce("t", bool, ReduceOp.AVERAGE))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("bool");
                    try (Arena arena = Arena.ofConfined()) {
                        Tensor confined = Tensor.of(arena.allocate(4), DataType.FLOAT32);
                        SparseTensor rows = new SparseTensor(index, confined, Shape.of(2));
                        assertThatThrownBy(() -> comm.sparseAllreduce("t", rows, ReduceOp.SUM))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("confined");
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(doubles = {-1, Double.NaN})
    void negativeThresholdIsRejected(double denseAbove) {
        assertThatThrownBy(() -> new SparseAllreduce(denseAbove))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
