package org.horovod4j.tensorflow.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.option.GraphKernels;
import org.junit.jupiter.api.Test;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;

/// Which kernels are used with which library.
class KernelChoiceTest {
    private static final KernelChoice.Library KNOWN = OpKernels.loadedLibrary();
    private static final KernelChoice.Library OTHER_BUILD =
            new KernelChoice.Library(KNOWN.version(), KNOWN.platform(), Optional.of("00ff"));
    private static final KernelChoice.Library WITHOUT_BUILD =
            new KernelChoice.Library(KNOWN.version(), KNOWN.platform(), Optional.empty());
    private static final KernelChoice.Library UNKNOWN =
            new KernelChoice.Library("9.9.9", KNOWN.platform(), KNOWN.buildId());
    private static final KernelChoice.Library OTHER_PLATFORM =
            new KernelChoice.Library(KNOWN.version(), "Mac OS X aarch64", KNOWN.buildId());

    private static Optional<String> passes() {
        return Optional.empty();
    }

    private static Optional<String> fails() {
        return Optional.of("it crashed");
    }

    private static Optional<String> isNotRun() {
        throw new AssertionError("the self-test runs");
    }

    @Test
    void knownBuildNeedsNoSelfTest() {
        assertThat(KernelChoice.of(GraphKernels.AUTO, KNOWN, KernelChoiceTest::isNotRun))
                .hasToString("asynchronous kernels: they are tested with TensorFlow 2.18.0");
        assertThat(KernelChoice.of(GraphKernels.ASYNC, KNOWN, KernelChoiceTest::isNotRun).mode())
                .isEqualTo(KernelMode.ASYNC);
    }

    @Test
    void selfTestDecidesAboutAnotherBuildOfAKnownVersion() {
        for (KernelChoice.Library library :
                new KernelChoice.Library[] {OTHER_BUILD, WITHOUT_BUILD}) {
            assertThat(KernelChoice.of(GraphKernels.AUTO, library, KernelChoiceTest::passes))
                    .hasToString(
                            "asynchronous kernels: their self-test passed with this build of TensorFlow 2.18.0");
            assertThat(KernelChoice.of(GraphKernels.AUTO, library, KernelChoiceTest::fails))
                    .hasToString(
                            "blocking kernels: the self-test of asynchronous kernels failed: it crashed");
        }
    }

    @Test
    void unknownVersionBlocksUnlessItIsForcedAndPassesTheSelfTest() {
        assertThat(KernelChoice.of(GraphKernels.AUTO, UNKNOWN, KernelChoiceTest::isNotRun))
                .hasToString(
                        "blocking kernels: asynchronous kernels are tested with TensorFlow 2.18.0, not with 9.9.9; HOROVOD_TENSORFLOW_KERNELS=async tries them");
        assertThat(KernelChoice.of(GraphKernels.ASYNC, UNKNOWN, KernelChoiceTest::passes).mode())
                .isEqualTo(KernelMode.ASYNC);
        assertThat(KernelChoice.of(GraphKernels.ASYNC, UNKNOWN, KernelChoiceTest::fails).mode())
                .isEqualTo(KernelMode.BLOCKING);
    }

    @Test
    void otherPlatformsBlock() {
        assertThat(KernelChoice.of(GraphKernels.ASYNC, OTHER_PLATFORM, KernelChoiceTest::isNotRun))
                .hasToString(
                        "blocking kernels: asynchronous kernels need Linux amd64, but this is Mac OS X aarch64");
    }

    @Test
    void userMayChooseAnother() {
        assertThat(KernelChoice.of(GraphKernels.BLOCKING, KNOWN, KernelChoiceTest::isNotRun))
                .hasToString("blocking kernels: set by HOROVOD_TENSORFLOW_KERNELS");
        assertThat(KernelChoice.of(GraphKernels.FETCH, KNOWN, KernelChoiceTest::isNotRun))
                .hasToString("fetch and feed: set by HOROVOD_TENSORFLOW_KERNELS");
    }

    @Test
    void fallbacksAreRecognized() {
        KernelChoice blocking =
                KernelChoice.of(GraphKernels.AUTO, UNKNOWN, KernelChoiceTest::isNotRun);
        assertThat(blocking.isFallback(GraphKernels.AUTO)).isTrue();
        assertThat(blocking.isFallback(GraphKernels.BLOCKING)).isFalse();
        assertThat(
                        KernelChoice.of(GraphKernels.AUTO, KNOWN, KernelChoiceTest::isNotRun)
                                .isFallback(GraphKernels.AUTO))
                .isFalse();
    }

    @Test
    void truncatedLibraryHasNoBuild() throws Exception {
        Path library =
                CodeRegions.ofTensorFlow().regions().stream()
                        .map(CodeRegions.Region::library)
                        .filter(each -> each.endsWith(LibTensorFlow.NAME))
                        .findFirst()
                        .orElseThrow();
        assertThat(ElfBuildId.of(library)).isEqualTo(KNOWN.buildId()).isPresent();
        byte[] start;
        try (InputStream in = Files.newInputStream(library)) {
            start = in.readNBytes(4096);
        }
        Path file = Files.createTempFile("truncated", "");
        try {
            for (int length = 0; length < 400; length++) {
                Files.write(file, Arrays.copyOf(start, length));
                assertThat(ElfBuildId.of(file)).isEmpty();
            }
            Random random = new Random(1);
            for (int i = 0; i < 1000; i++) {
                byte[] changed = start.clone();
                changed[5 + random.nextInt(1000)] = (byte) random.nextInt();
                Files.write(file, changed);
                Optional<String> _ = ElfBuildId.of(file); // does not throw
            }
        } finally {
            Files.delete(file);
        }
    }

    @Test
    void fileThatIsNoLibraryHasNoBuild() throws Exception {
        Path file = Files.createTempFile("no-library", "");
        try {
            assertThat(ElfBuildId.of(file)).isEmpty();
            Files.writeString(file, "text ".repeat(100));
            assertThat(ElfBuildId.of(file)).isEmpty();
        } finally {
            Files.delete(file);
        }
    }
}
