package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.driver.DriverEvent;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.remote.HostNotReadyException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/// What takes long on a host of an elastic job: each errand has a thread of its own, and ends in
/// news.
final class HostTasks {
    private final ElasticHosts hosts;
    private final OutputTargets outputTargets;
    private final Consumer<ElasticJobEvent> events;

    /// @param events called from any thread, and does not wait
    HostTasks(ElasticHosts hosts, OutputTargets outputTargets, Consumer<ElasticJobEvent> events) {
        this.hosts = hosts;
        this.outputTargets = outputTargets;
        this.events = events;
    }

    /// The variables of a worker.
    interface Variables {
        Map<String, String> of(Worker worker, boolean remote);
    }

    /// Gets a host ready.
    void open(Host host) {
        startThread(
                () -> {
                    try {
                        HostAgent agent = hosts.add(host);
                        notifyDriver(new DriverEvent.HostOpened(host.name()));
                        agent.onLoss(
                                reason ->
                                        events.accept(
                                                new ElasticJobEvent.HostLost(
                                                        host.name(), agent, reason)));
                    } catch (HostNotReadyException | IOException | RuntimeException e) {
                        notifyDriver(new DriverEvent.HostNotReady(host.name(), reason(e)));
                    }
                });
    }

    /// Starts the process of a worker.
    void start(Worker worker, Variables variables) {
        startThread(
                () -> {
                    try {
                        events.accept(new ElasticJobEvent.Started(startProcess(worker, variables)));
                    } catch (IOException | RuntimeException e) {
                        events.accept(new ElasticJobEvent.NotStarted(worker, reason(e)));
                    }
                });
    }

    private WorkerProcess startProcess(Worker worker, Variables variables) throws IOException {
        ElasticHosts.Ready host =
                hosts.find(worker.host()).orElseThrow(() -> new IOException("its host is gone"));
        Process process =
                host.agent()
                        .start(
                                host.program().command(worker.number()),
                                variables.of(worker, host.isRemote()));
        return new WorkerProcess(
                worker, host.agent(), process, outputTargets, host.program().unwantedLine());
    }

    /// Lets go of a host.
    ///
    /// @param last processes there whose last lines may still be under way
    void release(String host, List<WorkerProcess> last) {
        hosts.remove(
                host,
                () -> {
                    try {
                        for (WorkerProcess process : last) {
                            process.awaitOutput();
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt(); // nobody does; the host goes anyway
                    }
                });
    }

    private static void startThread(Runnable errand) {
        Thread.ofPlatform().daemon().name("hvd-host").start(errand);
    }

    private void notifyDriver(DriverEvent driverEvent) {
        events.accept(new ElasticJobEvent.ForDriver(driverEvent));
    }

    /// Whatever goes wrong must become news, or its worker would start for ever. What nobody
    /// foresaw is named by its type too.
    private static String reason(Exception e) {
        return e instanceof RuntimeException && !(e instanceof ConfigurationException)
                ? e.toString()
                : String.valueOf(e.getMessage());
    }
}
