package org.horovod4j.launcher.function;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.codec.ObjectCodec;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Objects;

class ThrownExceptionTest {
    private static final ClassLoader LOADER = ThrownExceptionTest.class.getClassLoader();

    private static Throwable restored(Throwable thrown) {
        ObjectCodec codec = new ObjectCodec(LOADER);
        ThrownException sent =
                (ThrownException) codec.decode(codec.encode(ThrownException.of(thrown)));
        return Objects.requireNonNull(sent).restore(LOADER);
    }

    private static String printed(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text));
        // Frames are printed without class loaders and modules.
        return text.toString().replaceAll("at (\\S*/)?", "at ");
    }

    @Test
    void classMessageFramesAndCauseAreRestored() {
        IllegalStateException thrown =
                new IllegalStateException("no data", new IOException("disk full"));
        thrown.addSuppressed(new InterruptedException());
        Throwable restored = restored(thrown);
        assertThat(restored)
                .isExactlyInstanceOf(IllegalStateException.class)
                .hasMessage("no data")
                .hasCauseExactlyInstanceOf(IOException.class);
        assertThat(restored.getStackTrace()[0].getMethodName())
                .isEqualTo("classMessageFramesAndCauseAreRestored");
        assertThat(restored.getSuppressed()).hasOnlyElementsOfType(InterruptedException.class);
        assertThat(printed(restored)).isEqualTo(printed(thrown));
    }

    @Test
    void constructorMayNeedCauseOfItsType() {
        assertThat(restored(new UncheckedIOException(new IOException("bad shard"))))
                .isExactlyInstanceOf(UncheckedIOException.class)
                .hasMessage("java.io.IOException: bad shard")
                .hasCauseExactlyInstanceOf(IOException.class);
        assertThat(restored(new OutOfMemoryError("heap")))
                .isExactlyInstanceOf(OutOfMemoryError.class);
        assertThat(restored(new AssertionError("wrong"))).hasMessage("wrong");
    }

    static final class WithoutMessage extends RuntimeException {
        private static final long serialVersionUID = 1L;

        WithoutMessage(int code) {
            super("code " + code);
        }
    }

    @Test
    void otherClassesPrintTheSame() {
        WithoutMessage thrown = new WithoutMessage(3);
        Throwable restored = restored(thrown);
        assertThat(restored).isNotInstanceOf(WithoutMessage.class).hasMessage("code 3");
        assertThat(printed(restored)).isEqualTo(printed(thrown));
    }

    @Test
    void unknownClassAndOtherObjectsAreNotCreated() {
        ThrownException unknown =
                new ThrownException(
                        "com.example.Gone", "x", "com.example.Gone: x", List.of(), null, List.of());
        assertThat(unknown.restore(LOADER)).hasToString("com.example.Gone: x");
        ThrownException other =
                new ThrownException(
                        "java.lang.StringBuilder",
                        "x",
                        "java.lang.StringBuilder: x",
                        List.of(),
                        null,
                        List.of());
        assertThat(other.restore(LOADER)).hasToString("java.lang.StringBuilder: x");
    }

    @Test
    void endlessChainOfCausesIsCut() {
        Exception first = new Exception("first");
        Exception second = new Exception("second", first);
        first.initCause(second);
        Throwable deepest = restored(first);
        int depth = 0;
        while (deepest.getCause() != null) {
            deepest = deepest.getCause();
            depth++;
        }
        assertThat(depth).isEqualTo(20);
    }

    @Test
    void longMessageIsTruncatedAndClassIsKept() {
        String message = "shard ".repeat(5_000);
        assertThat(restored(new IllegalStateException(message)))
                .isExactlyInstanceOf(IllegalStateException.class)
                .hasMessage(message.substring(0, 10_000) + "…");
        String longest = "x".repeat(10_000); // what is printed is longer
        assertThat(restored(new IllegalStateException(longest)))
                .isExactlyInstanceOf(IllegalStateException.class)
                .hasMessage(longest);
        assertThat(restored(new IllegalStateException("😀".repeat(5_001).substring(1))))
                .isExactlyInstanceOf(IllegalStateException.class);
    }

    /// Public, with a public constructor: it can be restored.
    public static final class BrokenMessage extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public BrokenMessage(String message) {
            super(message);
        }

        @Override
        public String getMessage() {
            throw new UnsupportedOperationException();
        }
    }

    static final class BrokenText extends RuntimeException {
        private static final long serialVersionUID = 1L;

        BrokenText(String message) {
            super(message);
        }

        @Override
        @SuppressWarnings({"InfiniteRecursion", "OverrideThrowableToString"})
        public String toString() {
            return toString() + "!";
        }
    }

    @Test
    void exceptionThatCannotDescribeItselfIsReported() {
        Throwable restored = restored(new BrokenMessage("no data"));
        assertThat(restored)
                .hasToString(
                        BrokenMessage.class.getName()
                                + ": (no message, because getMessage() threw"
                                + " java.lang.UnsupportedOperationException)");
        assertThat(restored.getStackTrace()[0].getMethodName())
                .isEqualTo("exceptionThatCannotDescribeItselfIsReported");
        assertThat(restored(new BrokenText("no data")))
                .hasToString(BrokenText.class.getName() + ": no data");
    }
}
