package org.horovod4j.djl.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;

import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

class MxNetAccessTest {
    private final NDManager manager = NDManager.newBaseManager("MXNet");
    private final EngineAccess access = EngineAccess.of(manager);

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void engineSeesMemoryWrites() {
        NDArray array = manager.arange(6f).reshape(2, 3).add(1);

        MemorySegment memory = access.memory(array).orElseThrow();
        memory.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 50);

        assertThat(array.toFloatArray()).containsExactly(50, 2, 3, 4, 5, 6);
        assertThat(array.sum().getFloat()).isEqualTo(70);
        assertThat(access.memory(array).orElseThrow().address()).isEqualTo(memory.address());
    }

    @Test
    void memoryWaitsForComputation() {
        NDArray factor = manager.full(new Shape(200, 200), 0.01f);
        NDArray product = factor;
        for (int i = 0; i < 20; i++) {
            product = product.dot(factor).div(2);
        }
        access.await(product);

        float[] read = new float[40_000];
        access.read(product, MemorySegment.ofArray(read));

        assertThat(read).containsExactly(product.toFloatArray());
        assertThat(read[0]).isCloseTo(0.01f, within(1e-4f));
    }

    @Test
    void gradientMemoryIsAccessedInPlace() {
        NDArray weight = manager.ones(new Shape(3));
        weight.setRequiresGradient(true);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(weight.mul(3).sum());
        }

        access.write(weight.getGradient(), MemorySegment.ofArray(new float[] {7, 8, 9}));

        assertThat(weight.getGradient().toFloatArray()).containsExactly(7, 8, 9);
    }

    @Test
    void arraysCannotBeMoved() {
        NDArray array = manager.ones(new Shape(3));
        try (Arena arena = Arena.ofConfined()) {
            assertThat(access.moveInto(array, arena.allocate(12))).isFalse();
        }
        assertThat(array.toFloatArray()).containsExactly(1, 1, 1);
        assertThat(access.hooks(HookChoice.AUTO)).isInstanceOf(BackwardHooks.Unavailable.class);
        assertThat(access.sparse(array)).isEmpty();
    }
}
