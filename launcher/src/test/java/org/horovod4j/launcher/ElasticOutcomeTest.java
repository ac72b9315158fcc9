package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.driver.ElasticDriver;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.process.Signal;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

class ElasticOutcomeTest {
    private static final ElasticDriver.Failure FIRST =
            new ElasticDriver.Failure(new Worker(3, "gpu1", 0), "exit code 3");

    @Test
    void finishedJobHasEmptyText() {
        assertThat(new ElasticOutcome.Done().exitCode()).isZero();
        assertThat(new ElasticOutcome.Done().text()).isEmpty();
    }

    @Test
    void interruptedJobExitsWithSignalCode() {
        ElasticOutcome outcome =
                new ElasticOutcome.Interrupted(Signal.INT, Duration.ofMillis(1260));
        assertThat(outcome.exitCode()).isEqualTo(130);
        assertThat(outcome.text()).isEqualTo("ended by %s after 1.3 s".formatted(Signal.INT));
    }

    @Test
    void failureNamesFirstWorkerAndLastErrorLines() {
        ElasticOutcome outcome =
                new ElasticOutcome.Failed(
                        "all workers are lost", Optional.of(FIRST), List.of("at Train", "end"));
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.text())
                .isEqualTo(
                        """
                        the job failed: all workers are lost. First to fail was worker 3 on gpu1: exit code 3.
                          Its last lines on standard error:
                            at Train
                            end""");
    }

    @Test
    void failureOmitsUnknownDetails() {
        assertThat(new ElasticOutcome.Failed(null, Optional.of(FIRST), List.of()).text())
                .isEqualTo("the job failed. First to fail was worker 3 on gpu1: exit code 3.");
        assertThat(new ElasticOutcome.Failed("no host is left", Optional.empty(), List.of()).text())
                .isEqualTo("the job failed: no host is left.");
    }
}
