package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

import org.horovod4j.Hvd;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// The secret of a job reaches its ranks, and nothing else that is written or started.
class SecretHandoverIT {
    private static final String PRINT_SECRET = "echo key=$(cat $HOROVOD_SECRET_FILE); ";

    @TempDir Path folder;

    /// Joins twice, shows the environment to a child process, and says whether the file is left.
    static final class JoinTwice {
        private JoinTwice() {}

        public static void main(String[] arguments) throws Exception {
            for (int time = 0; time < 2; time++) {
                Hvd.init();
                Hvd.barrier();
                Hvd.shutdown();
            }
            Path file = Path.of(System.getenv("HOROVOD_SECRET_FILE"));
            System.out.println("left=" + Files.exists(file));
            new ProcessBuilder("env").inheritIO().start().waitFor();
        }
    }

    /// A script hides `java` from the launcher, so the recording has the event with all variables.
    @Test
    void recordingAndChildrenDoNotShowSecret() throws Exception {
        String program = PRINT_SECRET + java("-XX:StartFlightRecording:filename=" + recording());
        try (LauncherProcess launcher = LauncherProcess.start("-np", "2", "sh", "-c", program)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            List<String> secrets = launcher.awaitOutput("key=(\\S{43})$", 2);
            assertThat(secrets.getFirst()).isEqualTo(secrets.getLast());
            assertThat(launcher.awaitOutput("left=(\\w+)", 2)).containsOnly("false");
            assertThat(launcher.stdout().split(secrets.getFirst(), -1))
                    .as("only what the script printed itself")
                    .hasSize(3);
            assertThat(recordings()).hasSize(2);
            for (Path file : recordings()) {
                assertThat(variablesIn(file)).anyMatch(name -> name.startsWith("HOROVOD_"));
                assertThat(Files.readString(file, ISO_8859_1)).doesNotContain(secrets.getFirst());
            }
        }
    }

    @Test
    void launcherKeepsAllVariablesOutOfRecording() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np",
                        "2",
                        "java",
                        "-XX:StartFlightRecording:filename=" + recording(),
                        "-cp",
                        TestJvm.CLASS_PATH,
                        JoinTwice.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(recordings()).hasSize(2);
            for (Path file : recordings()) {
                assertThat(variablesIn(file)).isEmpty();
            }
        }
    }

    @Test
    void scriptMayRunAnotherProgramBeforeTheOneThatJoins() throws Exception {
        String program = TestJvm.JAVA + " -version && " + java("-Xshare:auto");
        try (LauncherProcess launcher = LauncherProcess.start("-np", "2", "sh", "-c", program)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.awaitOutput("left=(\\w+)", 2)).containsOnly("false");
        }
    }

    @Test
    void otherUsersReadNeitherFileNorFindSecretAnywhere() throws Exception {
        assumeTrue(
                Files.getAttribute(folder, "unix:uid").equals(0), "only root can change its user");
        String program =
                "echo file=$HOROVOD_SECRET_FILE; "
                        + PRINT_SECRET
                        + "echo job=$HOROVOD_JOB_ID;"
                        + " exec sleep 1000";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "2", "sh", "-c", program)) {
            String secret = launcher.awaitOutput("key=(\\S{43})$", 2).getFirst();
            String file = launcher.awaitOutput("file=(\\S+)$", 2).getFirst();
            assertThat(Processes.withCommandLine(secret)).isEmpty();
            assertThat(Processes.withVariable(secret)).isEmpty();
            assertThat(Processes.withCommandLine(launcher.awaitJobId()))
                    .as("the mark of the job")
                    .isEmpty();
            Process stranger =
                    new ProcessBuilder("setpriv", "--reuid", "65534", "--clear-groups", "cat", file)
                            .start();
            assertThat(stranger.getInputStream().readAllBytes()).isEmpty();
            assertThat(stranger.waitFor()).isNotZero();
        }
    }

    @Test
    void filesAreRemovedWithTheJobHoweverItEnds() throws Exception {
        String program = "echo file=$HOROVOD_SECRET_FILE; exec sleep 1000";
        for (String signal : List.of("TERM", "KILL")) {
            try (LauncherProcess launcher =
                    LauncherProcess.start("-np", "2", "sh", "-c", program)) {
                Path file = Path.of(launcher.awaitOutput("file=(\\S+)$", 2).getFirst());
                assertThat(file).exists();
                launcher.signal(signal);
                await().until(() -> Files.notExists(file.getParent()));
            }
        }
    }

    private static String java(String option) {
        return "%s -XX:TieredStopAtLevel=1 %s -cp %s '%s'"
                .formatted(TestJvm.JAVA, option, TestJvm.CLASS_PATH, JoinTwice.class.getName());
    }

    private Path recording() {
        return folder.resolve("flight-%p.jfr");
    }

    private List<Path> recordings() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".jfr")).toList();
        }
    }

    private static List<String> variablesIn(Path recording) throws IOException {
        return RecordingFile.readAllEvents(recording).stream()
                .filter(it -> it.getEventType().getName().equals("jdk.InitialEnvironmentVariable"))
                .map((RecordedEvent it) -> it.getString("key"))
                .toList();
    }
}
