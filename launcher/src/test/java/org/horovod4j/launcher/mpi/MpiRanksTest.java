package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.junit.jupiter.api.Test;

import java.time.Duration;

class MpiRanksTest {
    private final MpiRanks ranks = new MpiRanks(2);

    @Test
    void startLineIsNotShownToUser() {
        assertThat(onLine("warming up\n")).isTrue();
        assertThat(ranks.missing()).isEqualTo(2);
        assertThat(onLine("[1,0]<stderr>:horovodrun: started as process 4 on a\n")).isFalse();
        assertThat(ranks.missing()).isOne();
        assertThat(onLine("[1,0]<stderr>:horovodrun: started\n")).isTrue();
    }

    @Test
    void aRankThatJoinsHasStarted() {
        ranks.joined(1);
        assertThat(ranks.missing()).isOne();
    }

    @Test
    void startLineCountsWithUnknownTag() {
        assertThat(onLine("1> horovodrun: started as process 4 on a\n")).isFalse();
        assertThat(onLine("horovodrun: started as process 5 on a\n")).isFalse();
        assertThat(ranks.missing()).isZero();
    }

    @Test
    void whenUserEndsJobOnlyLinesOfRanksArePrinted() {
        bothStart();
        assertThat(onLineWhileEnding("[mpiexec@a] Sending Ctrl-C to processes as requested\n"))
                .isFalse();
        assertThat(onLineWhileEnding("[1] saved the model\n")).isTrue();
    }

    @Test
    void whenUserEndsJobLinesOfUntaggedRanksArePrinted() {
        onLine("horovodrun: started as process 4 on a\n");
        assertThat(onLineWhileEnding("saved the model\n")).isTrue();
    }

    @Test
    void reportCombinesRankReportedByPeersWithEndReportedByMpirun() {
        bothStart();
        onLine("[1] disk full\n");
        onLine("[0] rank 1 is lost\n");
        ranks.failed(1, "the connection was closed");
        ranks.failed(0, "no rank 1");
        onLine(
                "mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).\n");
        assertThat(ranks.sinceFailure()).isNotNull();
        assertThat(ranks.report(9, Duration.ofMillis(1234)))
                .isEqualTo(
                        """
                        the job failed. First to fail was rank 1 on b (process 5): killed by signal 9 (SIGKILL).
                          Its last lines on standard error:
                            disk full
                          The other processes had ended 1.2 s later.""");
    }

    @Test
    void rankFailingDueToPeerLossIsNotFirstFailure() {
        bothStart();
        ranks.failed(1, "the connection was closed");
        onLine("  Process name: [[24223,1],0]\n");
        onLine("  Exit code:    1\n");
        assertThat(ranks.report(1, null))
                .isEqualTo(
                        "the job failed. First to fail was rank 1 on b (process 5): the connection was"
                                + " closed.");
    }

    @Test
    void rankThatOthersMissIsFirstFailure() {
        bothStart();
        ranks.missed(1, "called shutdown");
        ranks.failed(0, "its program failed");
        onLine("  Process name: [[24223,1],0]\n");
        onLine("  Exit code:    1\n");
        assertThat(ranks.report(1, null))
                .isEqualTo(
                        "the job failed. First to fail was rank 1 on b (process 5): called shutdown,"
                                + " while other ranks still needed it.");
    }

    @Test
    void unknownFirstFailureIsReportedAsUnknown() {
        bothStart();
        assertThat(ranks.sinceFailure()).isNull();
        assertThat(ranks.report(7, null))
                .startsWith("the job failed, and mpirun ended (exit code 7).")
                .contains("which rank was the first to fail");
    }

    private void bothStart() {
        onLine("[0] horovodrun: started as process 4 on a\n");
        onLine("[1] horovodrun: started as process 5 on b\n");
    }

    private boolean onLineWhileEnding(String line) {
        return ranks.onLine(StandardStream.STDERR, line.getBytes(UTF_8), true);
    }

    private boolean onLine(String line) {
        return ranks.onLine(StandardStream.STDERR, line.getBytes(UTF_8), false);
    }
}
