package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.elastic.Event;
import org.horovod4j.launcher.elastic.Worker;
import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.remote.HostNotReadyException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/// What takes long on a host of an elastic job: each errand has a thread of its own, and ends in
/// news.
final class Errands {
    private final ElasticHosts hosts;
    private final Forwarding forwarding;
    private final Consumer<ElasticNews> news;

    /// @param news called from any thread, and does not wait
    Errands(ElasticHosts hosts, Forwarding forwarding, Consumer<ElasticNews> news) {
        this.hosts = hosts;
        this.forwarding = forwarding;
        this.news = news;
    }

    /// The variables of a worker.
    interface Variables {
        Map<String, String> of(Worker worker, boolean remote);
    }

    /// Gets a host ready.
    void open(Host host) {
        begin(
                () -> {
                    try {
                        HostAgent agent = hosts.add(host);
                        tell(new Event.HostOpened(host.name()));
                        agent.onLoss(
                                reason ->
                                        news.accept(
                                                new ElasticNews.HostLost(
                                                        host.name(), agent, reason)));
                    } catch (HostNotReadyException | IOException | RuntimeException e) {
                        tell(new Event.HostRefused(host.name(), reason(e)));
                    }
                });
    }

    /// Starts the process of a worker.
    void start(Worker worker, Variables variables) {
        begin(
                () -> {
                    try {
                        news.accept(new ElasticNews.Started(process(worker, variables)));
                    } catch (IOException | RuntimeException e) {
                        news.accept(new ElasticNews.NotStarted(worker, reason(e)));
                    }
                });
    }

    private WorkerProcess process(Worker worker, Variables variables) throws IOException {
        ElasticHosts.Ready host =
                hosts.find(worker.host()).orElseThrow(() -> new IOException("its host is gone"));
        Process process =
                host.agent()
                        .start(
                                host.program().command(worker.number()),
                                variables.of(worker, host.isRemote()));
        return new WorkerProcess(
                worker, host.agent(), process, forwarding, host.program().unwantedLine());
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

    private static void begin(Runnable errand) {
        Thread.ofPlatform().daemon().name("hvd-host").start(errand);
    }

    private void tell(Event event) {
        news.accept(new ElasticNews.Happened(event));
    }

    /// Whatever goes wrong must become news, or its worker would start for ever. What nobody
    /// foresaw is named by its type too.
    private static String reason(Exception e) {
        return e instanceof RuntimeException && !(e instanceof ConfigurationException)
                ? e.toString()
                : String.valueOf(e.getMessage());
    }
}
