package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;

class SignalIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    /// Prints that it is ready after its traps are set.
    private static final String EXITS_ON_SIGNAL =
            """
            trap 'echo got INT; exit 0' INT
            trap 'echo got TERM; exit 0' TERM
            echo job=$HOROVOD_JOB_ID
            while :; do sleep 0.05; done""";

    private static final String IGNORES_SIGNALS =
            """
            trap '' INT TERM
            echo job=$HOROVOD_JOB_ID
            while :; do sleep 0.05; done""";

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void signalReachesEveryRank(String signal, int exitCode) throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "3", "sh", "-c", EXITS_ON_SIGNAL)) {
            launcher.awaitOutput("job=(\\S+)", 3);
            launcher.signal(signal);
            assertThat(launcher.exitCode()).isEqualTo(exitCode);
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:got " + signal)
                    .contains("[1]<stdout>:got " + signal)
                    .contains("[2]<stdout>:got " + signal);
            assertThat(launcher.stderr()).contains("ended by SIG" + signal);
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }

    /// If the processes take longer than a second to end, another line comes before it.
    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void endOfTrainingByUserPrintsOneLine(String signal, int exitCode) throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(TestCommands.job("-np 3", EndlessTraining.class))) {
            launcher.awaitOutput("training (\\d)", 3);
            launcher.signal(signal);
            assertThat(launcher.exitCode()).isEqualTo(exitCode);
            assertThat(launcher.stderr())
                    .matches(
                            ("(horovodrun: got SIG%1$s, waiting for .*\n)?"
                                            + "horovodrun: ended by SIG%1$s after [0-9.]+ s\n")
                                    .formatted(signal));
        }
    }

    /// A program that launches a training as a function.
    static final class LaunchingProgram {
        private LaunchingProgram() {}

        public static void main(String[] arguments) {
            Launcher.processes(3)
                    .jvmOptions(TestJvm.SHORT_LIVED)
                    .execute(_ -> EndlessTraining.train());
        }
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void endOfLaunchingProgramByUserPrintsNothing(String signal, int exitCode) throws Exception {
        try (LauncherProcess program = LauncherProcess.start(LaunchingProgram.class, Map.of())) {
            program.awaitOutput("training (\\d)", 3);
            String job = program.awaitJobId();
            program.signal(signal);
            assertThat(program.exitCode()).isEqualTo(exitCode);
            assertThat(program.stderr()).isEmpty();
            await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        }
    }

    /// A program that interrupts the thread in which it has launched a training.
    static final class InterruptingProgram {
        private InterruptingProgram() {}

        public static void main(String[] arguments) throws IOException, InterruptedException {
            Thread launch = Thread.ofPlatform().start(InterruptingProgram::launch);
            int _ = System.in.read();
            launch.interrupt();
            launch.join();
        }

        private static void launch() {
            try {
                LaunchingProgram.main(new String[0]);
            } catch (LaunchException e) {
                System.out.println("launch: " + e.getMessage());
            }
        }
    }

    @Test
    void interruptOfLaunchPrintsNothing() throws Exception {
        try (LauncherProcess program = LauncherProcess.start(InterruptingProgram.class, Map.of())) {
            program.awaitOutput("training (\\d)", 3);
            program.type("\n");
            assertThat(program.exitCode()).isZero();
            assertThat(program.stdout())
                    .contains("launch: the thread that launched the job was interrupted");
            assertThat(program.stderr()).isEmpty();
        }
    }

    @Test
    void secondSignalKillsRanks() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "2", "sh", "-c", IGNORES_SIGNALS)) {
            launcher.awaitOutput("job=(\\S+)", 2);
            launcher.signal("INT");
            await().atMost(TIMEOUT).until(() -> launcher.stderr().contains("got SIGINT"));
            launcher.signal("INT");
            assertThat(launcher.exitCode()).isEqualTo(130);
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }
}
