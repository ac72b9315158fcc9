package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.elastic.registry.WorkerPlacement;
import org.horovod4j.elastic.registry.WorkerRegistry;
import org.horovod4j.option.ElasticOptions;
import org.horovod4j.option.Options;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Secret;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.SharedMemoryFiles;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

/// An elastic job with a simple driver: when all workers are ready, it forms a generation of them.
/// One thread takes events from one queue.
///
/// [#close] ends all processes, and fails the test if a process or a shared-memory file remains.
final class ElasticTestJob implements AutoCloseable {
    private static final Duration CALM = Duration.ofSeconds(30);

    private final String id = "it-" + UUID.randomUUID();
    private final Secret secret = Secret.random();
    private final SharedMemoryFiles files = SharedMemoryFiles.snapshot();
    private final Duration heartbeatTimeout;
    private final RendezvousServer server;
    private final WorkerRegistry desk;
    private final BlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
    private final Thread driver = Thread.ofVirtual().name("driver").unstarted(this::drive);
    private final SortedMap<Integer, TestRankProcess> workers = new TreeMap<>();

    // What the driver alone changes.
    private final TreeSet<Integer> living = new TreeSet<>();
    private final SortedMap<Integer, Boolean> ready = new TreeMap<>();
    private final Map<Integer, Integer> ranks = new HashMap<>();
    private final TreeSet<Integer> unwanted = new TreeSet<>();
    private final int awaited;
    private int generation = -1;
    private int uninformed = -1;
    private volatile long stamp;

    /// @param initial how many workers the first generation needs
    ElasticTestJob(int initial, Duration heartbeatTimeout) {
        this.awaited = initial;
        this.heartbeatTimeout = heartbeatTimeout;
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        this.server =
                RendezvousServer.startElastic(
                        secret, List.of(anyPort), heartbeatTimeout, CALM, MembershipListener.NONE);
        this.desk =
                WorkerRegistry.open(
                        secret,
                        List.of(anyPort),
                        heartbeatTimeout,
                        new WorkerRegistry.Listener() {
                            @Override
                            public void ready(int worker, int generation, String why) {
                                events.add(() -> workerReady(worker, generation, why));
                            }

                            @Override
                            public void lost(int worker, String how) {
                                events.add(() -> workerLost(worker, how));
                            }
                        });
        driver.start();
    }

    ElasticTestJob(int initial) {
        this(initial, CALM);
    }

    /// Starts a worker. The others are notified when it is ready.
    TestRankProcess start(String... arguments) throws IOException {
        int worker = workers.size();
        ProcessBuilder builder =
                new ProcessBuilder(
                        TestRankCommand.of(List.of(), ElasticTraining.class, List.of(arguments)));
        builder.environment().keySet().removeIf(name -> name.startsWith("HOROVOD_"));
        builder.environment().putAll(variables(worker));
        TestRankProcess process = new TestRankProcess(worker, builder);
        workers.put(worker, process);
        process.onExit(how -> events.add(() -> workerExited(worker, how)));
        return process;
    }

    TestRankProcess worker(int worker) {
        return Objects.requireNonNull(workers.get(worker), "started");
    }

    /// Dismisses a worker when it next asks for a rank, and asks all workers to do so.
    void removeWorker(int worker) {
        events.add(
                () -> {
                    unwanted.add(worker);
                    notifyHostsUpdated();
                });
    }

    /// Waits until workers have been notified for the first time that their number changes.
    void awaitHostsUpdate() {
        await().atMost(TestJob.TIMEOUT).until(() -> stamp > 0);
    }

    /// Assigns this worker a rank in the next generation without notifying it. The others wait for
    /// it until its process ends.
    void assignWithoutNotifying(int worker) {
        events.add(() -> uninformed = worker);
    }

    private void drive() {
        try {
            while (true) {
                events.take().run();
                boolean complete = generation >= 0 || living.size() == awaited;
                if (complete && !living.isEmpty() && ready.keySet().containsAll(living)) {
                    makeGeneration();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the job is closed
        }
    }

    private void workerReady(int worker, int from, String why) {
        boolean isNew = !ranks.containsKey(worker);
        if (unwanted.contains(worker)) {
            living.remove(worker);
            desk.dismiss(worker, "the test has no use for it");
            return;
        }
        living.add(worker);
        ready.put(worker, from < 0 || from < generation || !why.isEmpty());
        if (isNew && generation >= 0) {
            notifyHostsUpdated();
        }
    }

    private void notifyHostsUpdated() {
        long next = stamp + 1;
        desk.hostsUpdated(next);
        stamp = next;
    }

    /// A closed connection means an exit that the system reports in more detail. Silence is the
    /// only sign of a stopped process.
    private void workerLost(int worker, String how) {
        Integer rank = ranks.get(worker);
        if (how.startsWith("silent") && living.remove(worker) && rank != null) {
            ready.remove(worker);
            server.reportLoss(generation, rank, how);
        }
    }

    private void workerExited(int worker, String how) {
        Integer rank = ranks.get(worker);
        living.remove(worker);
        ready.remove(worker);
        if (rank != null) {
            server.reportExit(generation, rank, how);
        }
    }

    private void makeGeneration() {
        generation++;
        ranks.clear();
        living.forEach(worker -> ranks.put(worker, ranks.size()));
        boolean sync = ready.values().stream().anyMatch(each -> each);
        int size = living.size();
        server.beginGeneration(generation, size);
        ready.clear();
        ranks.forEach(
                (worker, rank) -> {
                    if (worker != uninformed) {
                        desk.assign(
                                worker,
                                new WorkerPlacement(
                                        generation, rank, size, rank, size, 0, 1, sync));
                    }
                });
        System.out.printf("generation %d: workers %s, sync %b%n", generation, living, sync);
    }

    /// Waits until these workers exit successfully, and checks that all of them have the result of
    /// a training without faults.
    void awaitResult(TestRankProcess... some) {
        for (TestRankProcess each : some) {
            await("end of worker " + each.rank())
                    .atMost(TestJob.TIMEOUT)
                    .until(() -> each.exit().isDone());
            assertThat(each.exitCode()).as(this::output).isZero();
            assertThat(each.lines()).as(this::output).contains(ElasticTraining.result());
        }
    }

    /// The output of all workers, for failure messages.
    String output() {
        return workers.values().stream()
                .map(each -> "--- worker %d\n%s".formatted(each.rank(), each.output()))
                .collect(Collectors.joining("\n"));
    }

    private Map<String, String> variables(int worker) {
        Map<String, String> all = new HashMap<>();
        all.put(ElasticOptions.ELASTIC.variable(), "1");
        all.put(ElasticOptions.WORKER.variable(), Integer.toString(worker));
        all.put(ElasticOptions.PORT.variable(), Integer.toString(desk.address().getPort()));
        all.put(Options.HOSTNAME.variable(), TestJobPlan.HOST);
        all.put(Options.KERNELS.variable(), "scalar");
        all.put(Options.RENDEZVOUS_ADDR.variable(), "127.0.0.1");
        all.put(Options.RENDEZVOUS_PORT.variable(), Integer.toString(server.address().getPort()));
        all.put(Options.RENDEZVOUS_SERVER.variable(), "launcher");
        all.put(
                Options.HEARTBEAT_TIMEOUT.variable(),
                Double.toString(heartbeatTimeout.toMillis() / 1000.0));
        all.put(Options.SECRET_KEY.variable(), secret.encode());
        all.put(Options.JOB_ID.variable(), id);
        all.put("HOROVOD_LOG_LEVEL", "info");
        return all;
    }

    @Override
    public void close() {
        workers.values().forEach(TestRankProcess::destroy);
        driver.interrupt();
        await().atMost(TestJob.TIMEOUT).until(() -> !driver.isAlive());
        desk.close();
        server.close();
        await().atMost(TestJob.TIMEOUT)
                .untilAsserted(
                        () -> {
                            assertThat(Processes.withVariable(Options.JOB_ID.variable() + "=" + id))
                                    .isEmpty();
                            assertThat(files.added()).as("shared files left behind").isEmpty();
                        });
    }
}
