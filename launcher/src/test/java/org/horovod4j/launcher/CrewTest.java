package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.elastic.Worker;
import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.process.LocalHost;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/// With real processes.
@Timeout(120)
class CrewTest {
    private static final Worker ON_A = new Worker(0, "a", 0);
    private static final Worker ON_B = new Worker(1, "b", 0);

    private final String mark = "HVD_CREW_TEST=" + UUID.randomUUID();
    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
    private final Forwarding forwarding =
            Forwarding.ofWorkers(new Console(screen, screen), null, false);
    private final Crew crew = new Crew();
    private LocalHost host;

    @BeforeEach
    void open() throws IOException {
        host = LocalHost.open(mark);
    }

    @AfterEach
    void close() throws InterruptedException {
        host.sweep();
        host.close();
        forwarding.close();
    }

    @Test
    void aWorkerBelongsToItFromTheOrderToItsEnd() throws Exception {
        crew.starting(ON_A);
        assertThat(crew.isGone()).isFalse();
        assertThat(crew.find(ON_A)).isEmpty();
        WorkerProcess process = process(ON_A, "exec sleep 1000");
        crew.started(process);
        assertThat(crew.find(ON_A)).contains(process);
        crew.kill(ON_A);
        assertThat(process.process().waitFor()).isEqualTo(137);
        assertThat(crew.ended(process)).isTrue();
        assertThat(crew.isGone()).isTrue();
    }

    @Test
    void whoIsToBeKilledBeforeItHasAProcessIsKilledWhenItHas() throws Exception {
        crew.starting(ON_A);
        crew.kill(ON_A);
        WorkerProcess process = process(ON_A, "exec sleep 1000");
        crew.started(process);
        assertThat(process.process().waitFor()).isEqualTo(137);
        assertThat(crew.isGone()).as("its end is still to be told").isFalse();
        assertThat(crew.ended(process)).isTrue();
        assertThat(crew.isGone()).isTrue();
    }

    @Test
    void whatCannotBeStartedIsForgotten() {
        crew.starting(ON_A);
        crew.kill(ON_A);
        crew.notStarted(ON_A);
        assertThat(crew.isGone()).isTrue();
    }

    @Test
    void theProcessesOfALostHostAreGoneAndTheirEndIsNoNews() throws Exception {
        WorkerProcess lost = process(ON_B, "true");
        crew.starting(ON_A);
        crew.starting(ON_B);
        crew.started(process(ON_A, "exec sleep 1000"));
        crew.started(lost);
        assertThat(crew.lose("b")).containsExactly(ON_B);
        assertThat(crew.ended(lost)).isFalse();
        assertThat(crew.running()).extracting(WorkerProcess::worker).containsExactly(ON_A);
    }

    /// The thread that has started it may be slower than the one that notices the loss.
    @Test
    void aProcessThatIsToldOfBehindTheLossOfItsHostIsWaitedForLikeAnyOther() throws Exception {
        crew.starting(ON_B);
        assertThat(crew.lose("b")).isEmpty();
        WorkerProcess late = process(ON_B, "true"); // the agent ends all processes of a lost host
        crew.started(late);
        assertThat(crew.isGone()).isFalse();
        assertThat(late.process().waitFor()).isZero();
        assertThat(crew.ended(late)).isTrue();
        assertThat(crew.isGone()).isTrue();
    }

    @Test
    void thoseThatHaveSaidAllAreForgottenWhenAnotherIsStarted() throws Exception {
        for (int number = 0; number < 5; number++) {
            Worker worker = new Worker(number, "a", 0);
            crew.starting(worker);
            WorkerProcess process = process(worker, "echo " + number);
            crew.started(process);
            process.process().waitFor();
            assertThat(crew.ended(process)).isTrue();
            await().until(process::hasPrintedAll);
            assertThat(crew.talkingOn("a")).containsExactly(process);
        }
        crew.awaitOutput();
        assertThat(screen.toString(UTF_8)).contains("[worker 4]<stdout>:4");
    }

    private WorkerProcess process(Worker worker, String script) throws IOException {
        String[] variable = mark.split("=", 2);
        Process process = host.start(List.of("sh", "-c", script), Map.of(variable[0], variable[1]));
        return new WorkerProcess(worker, host, process, forwarding, "no such line");
    }
}
