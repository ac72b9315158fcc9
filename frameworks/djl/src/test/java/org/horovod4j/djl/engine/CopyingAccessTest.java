package org.horovod4j.djl.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.SparseFormat;

import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.MemorySegment;

/// Copies through DJL's API, tested with both engines.
class CopyingAccessTest {
    private NDManager manager = NDManager.newBaseManager("PyTorch");

    enum TestEngine {
        PYTORCH("PyTorch"),
        MXNET("MXNet");

        private final String engineName;

        TestEngine(String engineName) {
            this.engineName = engineName;
        }

        EngineAccess access() {
            return new CopyingAccess(engineName, true, "for a test");
        }
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @ParameterizedTest
    @EnumSource
    void readsAndWritesElements(TestEngine engine) {
        EngineAccess access = engine.access();
        manager = NDManager.newBaseManager(engine.engineName);
        NDArray array = manager.arange(6f).reshape(2, 3);
        float[] read = new float[6];

        access.read(array, MemorySegment.ofArray(read));
        access.write(array, MemorySegment.ofArray(new float[] {9, 8, 7, 6, 5, 4}));

        assertThat(read).containsExactly(0, 1, 2, 3, 4, 5);
        assertThat(array.toFloatArray()).containsExactly(9, 8, 7, 6, 5, 4);
        assertThat(access.memory(array)).isEmpty();
        assertThat(access.moveInto(array, MemorySegment.ofArray(new float[6]))).isFalse();
        assertThat(access.hooks(HookChoice.AUTO))
                .isEqualTo(new BackwardHooks.Unavailable("for a test"));
    }

    @ParameterizedTest
    @EnumSource(names = "PYTORCH")
    void sparseArrayIsReadAsDense(TestEngine engine) {
        EngineAccess access = engine.access();
        NDArray array = manager.create(new float[] {0, 3, 0}).toSparse(SparseFormat.COO);
        float[] read = new float[3];

        access.read(array, MemorySegment.ofArray(read));

        assertThat(read).containsExactly(0, 3, 0);
        assertThatThrownBy(() -> access.sparse(array))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessage(
                        "the rows of a sparse array of engine PyTorch cannot be read; make it dense first");
        assertThatThrownBy(() -> access.write(array, MemorySegment.ofArray(read)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessage(
                        "cannot write all elements of the sparse array (3): make it dense first");
    }
}
