package org.horovod4j.djl.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.core.Embedding;
import ai.djl.training.GradientCollector;

import org.horovod4j.SparseTensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.FloatBuffer;

class PyTorchAccessTest {
    private final NDManager manager = NDManager.newBaseManager("PyTorch");
    private final EngineAccess access = EngineAccess.of(manager);

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void engineSeesMemoryWrites() {
        NDArray array = manager.arange(6f).reshape(2, 3);

        MemorySegment memory = access.memory(array).orElseThrow();
        memory.setAtIndex(ValueLayout.JAVA_FLOAT, 5, 50);

        assertThat(array.toFloatArray()).containsExactly(0, 1, 2, 3, 4, 50);
        assertThat(array.sum().getFloat()).isEqualTo(60);
        assertThat(access.memory(array).orElseThrow().address()).isEqualTo(memory.address());
    }

    @Test
    void scalarHasOneElementAndEmptyArrayNone() {
        assertThat(access.memory(manager.create(3f)).orElseThrow().byteSize()).isEqualTo(4);
        assertThat(access.memory(manager.zeros(new Shape(0, 3))).orElseThrow().byteSize()).isZero();
    }

    @Test
    void transposedArrayIsCopiedInRowMajorOrder() {
        NDArray base = manager.arange(6f).reshape(2, 3);
        NDArray transposed = base.transpose();
        float[] read = new float[6];

        assertThat(access.memory(transposed)).isEmpty();
        access.read(transposed, MemorySegment.ofArray(read));
        access.write(transposed, MemorySegment.ofArray(new float[] {1, 2, 3, 4, 5, 6}));

        assertThat(read).containsExactly(0, 3, 1, 4, 2, 5);
        assertThat(base.toFloatArray()).containsExactly(1, 3, 5, 2, 4, 6);
    }

    @ParameterizedTest
    @EnumSource(
            names = {"FLOAT16", "FLOAT32", "FLOAT64", "INT8", "UINT8", "INT32", "INT64", "BOOLEAN"})
    void readsAndWritesEveryType(DataType type) {
        NDArray ones = manager.ones(new Shape(5)).toType(type, true);
        NDArray zeros = manager.zeros(new Shape(5)).toType(type, true);
        byte[] bytes = new byte[5 * type.getNumOfBytes()];

        access.read(ones, MemorySegment.ofArray(bytes));
        access.write(zeros, MemorySegment.ofArray(bytes));

        assertThat(zeros.eq(ones).all().getBoolean()).isTrue();
        assertThat(DataTypes.of(type).byteSize()).isEqualTo(type.getNumOfBytes());
    }

    @Test
    void movedArrayKeepsElements() {
        NDArray array = manager.arange(6f).reshape(2, 3);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(24, 64);

            assertThat(access.moveInto(array, memory)).isTrue();
            array.muli(2);

            assertThat(memory.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(0, 2, 4, 6, 8, 10);
            assertThat(array.getShape()).isEqualTo(new Shape(2, 3));
            array.close();
        }
    }

    @Test
    void movedGradientStaysInPlaceDuringBackward() {
        NDArray weight = manager.ones(new Shape(3));
        weight.setRequiresGradient(true);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(12, 64);
            addToGradient(weight);
            access.moveInto(weight.getGradient(), memory);

            for (int step = 0; step < 4; step++) {
                System.gc();
                addToGradient(weight);
                weight.getGradient().muli(0.5f);
            }

            assertThat(memory.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(3, 3, 3);
            weight.close();
        }
    }

    /// Adds 3 to each element of the gradient.
    private void addToGradient(NDArray weight) {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(weight.mul(manager.full(weight.getShape(), 3)).sum());
        }
    }

    @Test
    void memoryOfOtherSizeIsRejected() {
        NDArray array = manager.ones(new Shape(2, 3));

        assertThatIllegalArgumentException()
                .isThrownBy(() -> access.read(array, MemorySegment.ofArray(new float[5])))
                .withMessage(
                        "read: the array (2, 3) of float32 takes 24 bytes, but the memory given has 20");
    }

    @Test
    void readsRowsOfSparseGradient() {
        NDArray weight = manager.ones(new Shape(5, 2));
        weight.setRequiresGradient(true);
        NDArray rows = manager.create(new long[] {3, 1, 3});
        NDArray factors = manager.create(new float[] {1, 2, 3, 4, 5, 6}, new Shape(3, 2));
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray embedded =
                    Embedding.embedding(rows, weight, SparseFormat.COO).singletonOrThrow();
            collector.backward(embedded.mul(factors).sum());
        }
        NDArray gradient = weight.getGradient();

        SparseTensor sparse = access.sparse(gradient).orElseThrow();
        float[] dense = new float[10];
        access.read(gradient, MemorySegment.ofArray(dense));

        assertThat(sparse.indices().toLongArray()).containsExactly(3, 1, 3);
        assertThat(sparse.values().toFloatArray()).containsExactly(1, 2, 3, 4, 5, 6);
        assertThat(sparse.denseShape()).isEqualTo(org.horovod4j.Shape.of(5, 2));
        assertThat(dense).containsExactly(0, 0, 3, 4, 0, 0, 6, 8, 0, 0);
        assertThat(access.memory(gradient)).isEmpty();
    }

    @Test
    void sparseGradientOfElementsIsRejected() {
        NDArray elements =
                manager.createCoo(
                        FloatBuffer.wrap(new float[] {7, 8}),
                        new long[][] {{0, 1}, {2, 0}},
                        new Shape(2, 3));

        assertThatIllegalArgumentException()
                .isThrownBy(() -> access.sparse(elements))
                .withMessage(
                        """
                        a sparse gradient of shape (2, 3) has single elements with 2 indices each, not rows
                        Let the network compute it dense, as an embedding with SparseFormat.DENSE does.""");
    }

    @Test
    void denseArrayIsNotSparse() {
        assertThat(access.sparse(manager.ones(new Shape(2)))).isEmpty();
    }
}
