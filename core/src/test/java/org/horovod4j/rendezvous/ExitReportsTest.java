package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

final class ExitReportsTest {
    private final BlockingQueue<String> reasons = new LinkedBlockingQueue<>();

    @Test
    void timelyReportReplacesGuess() throws Exception {
        ExitReports reports = new ExitReports(Duration.ofHours(1));
        reports.await(3, "a guess", reasons::add);
        reports.report(2, "exit code 2");
        assertThat(reasons).isEmpty();

        reports.report(3, "exit code 3");

        assertThat(reasons.take()).isEqualTo("exit code 3");
    }

    @Test
    void guessIsUsedWithoutReport() throws Exception {
        ExitReports reports = new ExitReports(Duration.ofMillis(1));
        reports.await(3, "a guess", reasons::add);

        assertThat(reasons.take()).isEqualTo("a guess");
        assertThat(reports.exitOf(3)).as("a guess is not a report").isNull();
    }
}
