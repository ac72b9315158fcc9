package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.OutputTargets;
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
class WorkerProcessesTest {
    private static final Worker ON_A = new Worker(0, "a", 0);
    private static final Worker ON_B = new Worker(1, "b", 0);

    private final String jobVariable = "HVD_PROCESSES_TEST=" + UUID.randomUUID();
    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
    private final OutputTargets outputTargets =
            OutputTargets.ofWorkers(new LauncherConsole(screen, screen), null, false);
    private final WorkerProcesses processes = new WorkerProcesses();
    private LocalHost host;

    @BeforeEach
    void open() throws IOException {
        host = LocalHost.open(jobVariable);
    }

    @AfterEach
    void close() throws InterruptedException {
        host.sweep();
        host.close();
        outputTargets.close();
    }

    @Test
    void workerIsTrackedFromStartRequestToExit() throws Exception {
        processes.starting(ON_A);
        assertThat(processes.isEmpty()).isFalse();
        assertThat(processes.find(ON_A)).isEmpty();
        WorkerProcess process = process(ON_A, "exec sleep 1000");
        processes.started(process);
        assertThat(processes.find(ON_A)).contains(process);
        processes.kill(ON_A);
        assertThat(process.process().waitFor()).isEqualTo(137);
        assertThat(processes.ended(process)).isTrue();
        assertThat(processes.isEmpty()).isTrue();
    }

    @Test
    void killBeforeStartKillsProcessOnceStarted() throws Exception {
        processes.starting(ON_A);
        processes.kill(ON_A);
        WorkerProcess process = process(ON_A, "exec sleep 1000");
        processes.started(process);
        assertThat(process.process().waitFor()).isEqualTo(137);
        assertThat(processes.isEmpty()).as("it has not exited yet").isFalse();
        assertThat(processes.ended(process)).isTrue();
        assertThat(processes.isEmpty()).isTrue();
    }

    @Test
    void workerThatFailsToStartIsRemoved() {
        processes.starting(ON_A);
        processes.kill(ON_A);
        processes.notStarted(ON_A);
        assertThat(processes.isEmpty()).isTrue();
    }

    @Test
    void processesOfLostHostAreRemovedAndTheirExitIgnored() throws Exception {
        WorkerProcess lost = process(ON_B, "true");
        processes.starting(ON_A);
        processes.starting(ON_B);
        processes.started(process(ON_A, "exec sleep 1000"));
        processes.started(lost);
        assertThat(processes.removeHost("b")).containsExactly(ON_B);
        assertThat(processes.ended(lost)).isFalse();
        assertThat(processes.running()).extracting(WorkerProcess::worker).containsExactly(ON_A);
    }

    /// The loss of the host may be detected before the start is reported.
    @Test
    void processReportedAfterHostLossIsStillTracked() throws Exception {
        processes.starting(ON_B);
        assertThat(processes.removeHost("b")).isEmpty();
        WorkerProcess late = process(ON_B, "true"); // the agent ends all processes of a lost host
        processes.started(late);
        assertThat(processes.isEmpty()).isFalse();
        assertThat(late.process().waitFor()).isZero();
        assertThat(processes.ended(late)).isTrue();
        assertThat(processes.isEmpty()).isTrue();
    }

    @Test
    void finishedOutputIsClosedWhenNextProcessStarts() throws Exception {
        for (int number = 0; number < 5; number++) {
            Worker worker = new Worker(number, "a", 0);
            processes.starting(worker);
            WorkerProcess process = process(worker, "echo " + number);
            processes.started(process);
            process.process().waitFor();
            assertThat(processes.ended(process)).isTrue();
            await().until(process::hasPrintedAll);
            assertThat(processes.withOpenOutputOn("a")).containsExactly(process);
        }
        processes.awaitOutput();
        assertThat(screen.toString(UTF_8)).contains("[worker 4]<stdout>:4");
    }

    private WorkerProcess process(Worker worker, String script) throws IOException {
        String[] variable = jobVariable.split("=", 2);
        Process process = host.start(List.of("sh", "-c", script), Map.of(variable[0], variable[1]));
        return new WorkerProcess(worker, host, process, outputTargets, "no such line");
    }
}
