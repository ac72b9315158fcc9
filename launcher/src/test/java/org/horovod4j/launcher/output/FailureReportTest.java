package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

class FailureReportTest {
    private static FailureReport.FirstFailure first(String... lastErrors) {
        return new FailureReport.FirstFailure(
                "worker 3 on gpu1", "exit code 3", List.of(lastErrors));
    }

    @Test
    void reportNamesReasonAndFirstFailureAndItsLastErrorLines() {
        assertThat(new FailureReport("all workers are lost", first("at Train", "end"), null))
                .hasToString(
                        """
                        the job failed: all workers are lost. First to fail was worker 3 on gpu1: exit code 3.
                          Its last lines on standard error:
                            at Train
                            end""");
    }

    @Test
    void reportTellsShutdownTime() {
        assertThat(new FailureReport(null, first(), Duration.ofMillis(1260)))
                .hasToString(
                        """
                        the job failed. First to fail was worker 3 on gpu1: exit code 3.
                          The other processes had ended 1.3 s later.""");
    }

    @Test
    void reportHasNoDoubleFullStop() {
        FailureReport.FirstFailure first =
                new FailureReport.FirstFailure("rank 1 on a", "Use less memory.", List.of());
        assertThat(new FailureReport("Find more hosts.", first, null))
                .hasToString(
                        "the job failed: Find more hosts. First to fail was rank 1 on a: Use less memory.");
    }

    @Test
    void reportOmitsUnknownDetails() {
        assertThat(new FailureReport(null, first(), null))
                .hasToString("the job failed. First to fail was worker 3 on gpu1: exit code 3.");
        assertThat(new FailureReport("no host is left", null, null))
                .hasToString("the job failed: no host is left.");
    }
}
