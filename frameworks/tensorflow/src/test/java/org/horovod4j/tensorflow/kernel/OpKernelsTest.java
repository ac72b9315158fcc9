package org.horovod4j.tensorflow.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.option.GraphKernels;
import org.junit.jupiter.api.Test;
import org.tensorflow.TensorFlow;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Which kernels are used, and the check of TensorFlow's callback.
class OpKernelsTest {
    private static final String PLATFORM = "Linux amd64";

    @Test
    void unknownVersionsUseBlockingKernels() {
        assertThat(OpKernels.reasonAgainstAsync(GraphKernels.AUTO, "2.18.0", PLATFORM)).isEmpty();
        assertThat(OpKernels.reasonAgainstAsync(GraphKernels.AUTO, "9.9.9", PLATFORM))
                .hasValueSatisfying(
                        reason ->
                                assertThat(reason)
                                        .contains(
                                                "tested with TensorFlow 2.18.0, not with 9.9.9",
                                                "HOROVOD_TENSORFLOW_KERNELS=async"));
        assertThat(OpKernels.reasonAgainstAsync(GraphKernels.ASYNC, "9.9.9", PLATFORM)).isEmpty();
        assertThat(OpKernels.reasonAgainstAsync(GraphKernels.ASYNC, "2.18.0", "Mac OS X aarch64"))
                .hasValueSatisfying(
                        reason -> assertThat(reason).contains("need Linux amd64, but this is Mac"));
        assertThat(OpKernels.reasonAgainstAsync(GraphKernels.BLOCKING, "2.18.0", PLATFORM))
                .contains("HOROVOD_TENSORFLOW_KERNELS says so");
    }

    @Test
    void testedVersionUsesAsynchronousKernels() {
        assertThat(OpKernels.get().variant()).isEqualTo(NodeVariant.ASYNC);
    }

    /// The pointers of another object are not functions of TensorFlow.
    @Test
    void callbackOfAnotherLayoutIsRecognized() {
        assertThat(TensorFlow.version()).isNotEmpty(); // loads the library
        CodeRegions code = CodeRegions.ofTensorFlow();
        assertThat(code.regions()).isNotEmpty();
        long inside = code.regions().getFirst().from();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocateFrom(JAVA_LONG, 1, 2, inside, inside);
            assertThat(DoneCallback.hasKnownLayout(words, code)).isTrue();
            words.setAtIndex(JAVA_LONG, 3, words.address());
            assertThat(DoneCallback.hasKnownLayout(words, code)).isFalse();
        }
    }
}
