package org.horovod4j.log;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.HvdRuntime;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.logging.ConsoleHandler;
import java.util.logging.Logger;

/// What a process writes to standard error. Each test starts a JVM, because logging is configured
/// once per JVM.
class LogIT {
    private static final String OURS =
            "\\[\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{6}, rank 2\\] WARNING: all is well";

    /// A JVM prints these variables on standard error.
    private static final Set<String> PRINTED_VARIABLES =
            Set.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");

    /// Logs as rank 2.
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            Log.configure(LogSettings.DEFAULT, 2);
            logLines();
        }

        static void logLines() {
            System.Logger logger = Log.of(Program.class);
            logger.log(Level.INFO, "a detail");
            logger.log(Level.WARNING, "all is well");
        }
    }

    /// An application that configures its logging by calls, after the first line.
    static final class LateApplication {
        private LateApplication() {}

        public static void main(String[] arguments) {
            Program.main(arguments);
            Logger root = Logger.getLogger("");
            root.setLevel(java.util.logging.Level.ALL);
            root.addHandler(new ConsoleHandler());
            Program.logLines();
        }
    }

    /// A rank with invalid variables.
    static final class InvalidVariables {
        private InvalidVariables() {}

        public static void main(String[] arguments) {
            Map<String, String> variables =
                    Map.of(
                            "HOROVOD_RANK", "0",
                            "HOROVOD_SIZE", "1",
                            "HOROVOD_KERNELS", "scalar",
                            "HOROVOD_CONTROLLER", "mpi",
                            "HOROVOD_FUSION_TRESHOLD", "0",
                            "HOROVOD_LOG_LEVEL", "warning",
                            "HOROVOD_LOG_HIDE_TIME", "yes");
            new HvdRuntime(variables).close();
        }
    }

    @Test
    void variablesOfARankConfigureItsLogging() throws Exception {
        assertThat(run(InvalidVariables.class, List.of(), TestJvm.CLASS_PATH))
                .satisfiesExactly(
                        line ->
                                assertThat(line)
                                        .startsWith("[rank 0] WARNING: HOROVOD_CONTROLLER has no"),
                        line ->
                                assertThat(line)
                                        .startsWith("[rank 0] WARNING: HOROVOD_FUSION_TRESHOLD is")
                                        .endsWith("Did you mean HOROVOD_FUSION_THRESHOLD?"));
    }

    @Test
    void linesHaveTimeAndRankByDefault() throws Exception {
        assertThat(run(Program.class, List.of(), TestJvm.CLASS_PATH))
                .singleElement()
                .asString()
                .matches(OURS);
    }

    @Test
    void loggingWorksWithoutJavaLoggingModule() throws Exception {
        List<String> small = List.of("--limit-modules", "java.base");
        assertThat(run(Program.class, small, TestJvm.CLASS_PATH))
                .singleElement()
                .asString()
                .matches(OURS);
    }

    @Test
    void aConfigurationOfJavaLoggingIsRespected(@TempDir Path folder) throws Exception {
        Path configuration = folder.resolve("logging.properties");
        Files.writeString(
                configuration,
                """
                handlers = java.util.logging.ConsoleHandler
                java.util.logging.SimpleFormatter.format = mine %4$s %5$s%n
                .level = INFO
                """);
        List<String> configured = List.of("-Djava.util.logging.config.file=" + configuration);
        assertThat(run(Program.class, configured, TestJvm.CLASS_PATH))
                .containsExactly("mine INFO a detail", "mine WARNING all is well");
    }

    @Test
    void applicationCanConfigureLoggingLater() throws Exception {
        List<String> plain = List.of("-Duser.language=en");
        List<String> lines = run(LateApplication.class, plain, TestJvm.CLASS_PATH);
        assertThat(lines.getFirst()).matches(OURS);
        assertThat(lines.subList(1, lines.size()))
                .contains("INFO: a detail", "WARNING: all is well");
    }

    @Test
    void applicationLoggerFinderReceivesTheLines(@TempDir Path folder) throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.writeString(
                services.resolve("java.lang.System$LoggerFinder"),
                UpperCaseLoggerFinder.class.getName());
        assertThat(run(Program.class, List.of(), folder + File.pathSeparator + TestJvm.CLASS_PATH))
                .containsExactly("A DETAIL", "ALL IS WELL");
    }

    /// The lines of the program on standard error.
    private static List<String> run(Class<?> program, List<String> flags, String classPath)
            throws IOException, InterruptedException {
        TestJvm jvm =
                TestJvm.of(program)
                        .shortLived()
                        .with(flags.toArray(String[]::new))
                        .onClassPath(classPath);
        ProcessBuilder builder =
                new ProcessBuilder(jvm.words()).redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().removeAll(PRINTED_VARIABLES);
        Process process = builder.start();
        String output = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output.lines().toList();
    }
}
