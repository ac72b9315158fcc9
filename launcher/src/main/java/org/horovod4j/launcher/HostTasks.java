package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.driver.DriverEvent;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.remote.HostNotReadyException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/// Slow work on the hosts of a job. Each task runs on its own thread and reports its result as an
/// event.
final class HostTasks {
    private final Hosts hosts;
    private final int command;
    private final OutputTargets outputTargets;
    private final Consumer<Job.Event> events;

    /// @param events called from any thread; must not block
    HostTasks(Hosts hosts, int command, OutputTargets outputTargets, Consumer<Job.Event> events) {
        this.hosts = hosts;
        this.command = command;
        this.outputTargets = outputTargets;
        this.events = events;
    }

    /// Reports the loss of each host that is ready already.
    void watchReadyHosts() {
        hosts.forEachAgent(this::watch);
    }

    private void watch(String host, HostAgent agent) {
        agent.onLoss(reason -> events.accept(new Job.Event.HostLost(host, agent, reason)));
    }

    /// Makes a host ready.
    void open(Host host) {
        startThread(() -> tryOpen(host));
    }

    private void tryOpen(Host host) {
        try {
            HostAgent agent = hosts.add(host);
            notifyDriver(new DriverEvent.HostOpened(host.name()));
            watch(host.name(), agent);
        } catch (HostNotReadyException | IOException | RuntimeException e) {
            notifyDriver(new DriverEvent.HostNotReady(host.name(), reason(e)));
        }
    }

    /// Starts the processes of workers: one thread for each host, since a start takes 2 ms and
    /// several at a time on one host measured no faster.
    void start(List<Worker> workers, WorkerServices services) {
        Map<String, List<Worker>> byHost =
                workers.stream().collect(Collectors.groupingBy(Worker::host));
        for (List<Worker> sameHost : byHost.values()) {
            startThread(() -> sameHost.forEach(worker -> start(worker, services)));
        }
    }

    private void start(Worker worker, WorkerServices services) {
        try {
            events.accept(new Job.Event.Started(startProcess(worker, services)));
        } catch (IOException | RuntimeException e) {
            events.accept(new Job.Event.NotStarted(worker, reason(e)));
        }
    }

    private WorkerProcess startProcess(Worker worker, WorkerServices services) throws IOException {
        Hosts.Ready host =
                hosts.find(worker.host()).orElseThrow(() -> new IOException("its host is gone"));
        Program program = host.programs().get(command);
        Map<String, String> variables = services.variables(worker, host.isRemote());
        Process process = host.agent().start(program.command(worker.number()), variables);
        return new WorkerProcess(
                worker, host.agent(), process, outputTargets, program.unwantedLine());
    }

    /// Releases a host.
    ///
    /// @param last processes there that may still print
    void release(String host, List<WorkerProcess> last) {
        hosts.remove(
                host,
                () -> {
                    try {
                        WorkerProcess.awaitOutput(last);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt(); // never happens; release it anyway
                    }
                });
    }

    private static void startThread(Runnable task) {
        Thread.ofPlatform().daemon().name("hvd-host").start(task);
    }

    private void notifyDriver(DriverEvent driverEvent) {
        events.accept(new Job.Event.ForDriver(driverEvent));
    }

    /// Every failure must be reported, or the driver would wait for its worker forever. Unexpected
    /// exceptions are named by type too.
    private static String reason(Exception e) {
        return e instanceof RuntimeException && !(e instanceof ConfigurationException)
                ? e.toString()
                : String.valueOf(e.getMessage());
    }
}
