package org.horovod4j.launcher.function;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import org.assertj.core.api.AbstractThrowableAssert;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.RankFunction;
import org.horovod4j.testsupport.TestJvm;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;

/// What is checked of a function before any process starts.
class FunctionEncoderTest {
    private static final ClassLoader LOADER = FunctionEncoderTest.class.getClassLoader();

    private final String field = "of the test";

    /// Decodes and calls it as a rank does.
    private static Object call(RankFunction<?> function) {
        FunctionEncoder reader = FunctionEncoder.of(function);
        return FunctionCaller.call(reader.codec().decode(reader.encoded()), LOADER);
    }

    @Test
    void onlyNamesAndValuesAreSent() {
        int number = 7;
        RankFunction<Integer> function = _ -> number;
        byte[] bytes = FunctionEncoder.of(function).encoded();
        assertThat(new String(bytes, ISO_8859_1))
                .contains(FunctionEncoderTest.class.getName(), "lambda$onlyNamesAndValuesAreSent$")
                .doesNotContain("\u00ac\u00ed\u0000\u0005"); // the header of Java serialization
    }

    @Test
    void primitivesNullsAndConstructorsAreSupported() {
        byte small = 1;
        short mid = 2;
        boolean yes = true;
        float fraction = 0.5f;
        @Nullable String nothing = null;
        assertThat(call(_ -> "" + small + mid + yes + fraction + nothing))
                .isEqualTo("12true0.5null");
        assertThat(call(Box::new)).isInstanceOf(Box.class);
        assertThat(call(String::valueOf)).isInstanceOf(String.class);
    }

    record Box(Communicator content) {}

    @Test
    void methodOfARecordUsesItsComponents() {
        assertThat(call(new Factor(21).doubled())).isEqualTo(42);
    }

    record Factor(int number) {
        RankFunction<Integer> doubled() {
            return _ -> 2 * number;
        }
    }

    @Test
    void unsupportedCaptureIsNamedWithFix() {
        Thread thread = Thread.currentThread();
        refused(_ -> thread.getName())
                .hasMessageContaining("holds something that cannot be sent to the ranks")
                .hasMessageContaining("cannot send a java.lang.Thread")
                .hasMessageContaining("static method");
        String[] names = {"a"};
        refused(_ -> names[0]).hasMessageContaining("java.lang.String[]");
    }

    @Test
    void capturingThisIsRefused() {
        refused(_ -> field)
                .hasMessageContaining("uses 'this', the object that it was written in")
                .hasMessageContaining(FunctionEncoderTest.class.getName());
    }

    @Test
    void captureOfConcreteCollectionTypeIsRefused() {
        ArrayList<String> names = new ArrayList<>(List.of("a"));
        refused(_ -> names.get(0))
                .hasMessageContaining("captured a java.util.ArrayList")
                .hasMessageContaining("Declare that variable as List");
        List<String> better = names;
        assertThatCode(() -> FunctionEncoder.of((RankFunction<String>) _ -> better.get(0)))
                .doesNotThrowAnyException();
    }

    @Test
    void objectsWithStateAreRefused() {
        refused(new StatefulFunction(3))
                .hasMessageContaining("whose field 'epochs' would not reach the ranks")
                .hasMessageContaining("record");
        refused(new FunctionWithoutDefaultConstructor(3))
                .hasMessageContaining("no constructor without parameters");
        refused(
                        new RankFunction<String>() {
                            private static final long serialVersionUID = 1L;

                            @Override
                            public String apply(Communicator communicator) {
                                return "";
                            }
                        })
                .hasMessageContaining("local to a method");
    }

    private static final class StatefulFunction implements RankFunction<Integer> {
        private static final long serialVersionUID = 1L;
        private final int epochs;

        StatefulFunction(int epochs) {
            this.epochs = epochs;
        }

        @Override
        public Integer apply(Communicator communicator) {
            return epochs;
        }
    }

    private static final class FunctionWithoutDefaultConstructor implements RankFunction<Integer> {
        private static final long serialVersionUID = 1L;

        FunctionWithoutDefaultConstructor(int epochs) {
            assertThat(epochs).isPositive();
        }

        @Override
        public Integer apply(Communicator communicator) {
            return 0;
        }
    }

    @Test
    void classOutsideClassPathIsRefused(@TempDir Path folder) throws Exception {
        Path source =
                Files.writeString(
                        folder.resolve("Lonely.java"),
                        """
                        public class Lonely implements %s<Integer> {
                            public Integer apply(%s communicator) { return 1; }
                        }"""
                                .formatted(
                                        RankFunction.class.getName(),
                                        Communicator.class.getName()));
        ToolProvider javac = ToolProvider.findFirst("javac").orElseThrow();
        String classPath = TestJvm.CLASS_PATH;
        assertThat(
                        javac.run(
                                System.out,
                                System.err,
                                "-proc:none",
                                "-cp",
                                classPath,
                                source.toString()))
                .isZero();
        try (URLClassLoader hermit =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, LOADER)) {
            Object lonely = hermit.loadClass("Lonely").getDeclaredConstructor().newInstance();
            FunctionEncoder reader = FunctionEncoder.of((RankFunction<?>) lonely);
            assertThatThrownBy(reader::checkClassPath)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("class Lonely is not on the class path of this JVM")
                    .hasMessageContaining("jshell");
        }
        assertThatCode(FunctionEncoder.of(new Factor(1).doubled())::checkClassPath)
                .doesNotThrowAnyException();
    }

    private static AbstractThrowableAssert<?, ?> refused(RankFunction<?> function) {
        return assertThatThrownBy(() -> FunctionEncoder.of(function))
                .isInstanceOf(ConfigurationException.class);
    }
}
