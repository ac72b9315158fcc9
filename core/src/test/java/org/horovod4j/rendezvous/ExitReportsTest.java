package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

final class ExitReportsTest {
    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

    @Test
    void timelyReportReplacesGuess() throws Exception {
        ExitReports reports = new ExitReports(Duration.ofHours(1));
        reports.await(3, "who knows", heard::add);
        reports.report(2, "exit code 2");
        assertThat(heard).isEmpty();

        reports.report(3, "exit code 3");

        assertThat(heard.take()).isEqualTo("exit code 3");
    }

    @Test
    void guessIsUsedWithoutReport() throws Exception {
        ExitReports reports = new ExitReports(Duration.ofMillis(1));
        reports.await(3, "who knows", heard::add);

        assertThat(heard.take()).isEqualTo("who knows");
        assertThat(reports.exitOf(3)).as("a guess is no report").isNull();
    }
}
