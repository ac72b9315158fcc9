package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.DismissedException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ReduceOp;
import org.horovod4j.elastic.registry.WorkerPlacement;
import org.horovod4j.elastic.registry.WorkerRegistry;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Secret;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;

/// Workers of an elastic job as threads. The test assigns their ranks.
class ElasticRuntimeTest {
    private static final Duration CALM = Duration.ofSeconds(60);

    @TempDir private Path folder;

    private final Secret secret = Secret.random();
    private final BlockingQueue<String> readies = new LinkedBlockingQueue<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final RendezvousServer server =
            RendezvousServer.startElastic(
                    secret, List.of(anyPort()), CALM, CALM, MembershipListener.NONE);
    private final WorkerRegistry desk =
            WorkerRegistry.open(
                    secret,
                    List.of(anyPort()),
                    CALM,
                    new WorkerRegistry.Listener() {
                        @Override
                        public void ready(int worker, int generation, String why) {
                            readies.add("%d from %d".formatted(worker, generation));
                        }

                        @Override
                        public void lost(int worker, String how) {}
                    });

    @AfterEach
    void close() {
        desk.close();
        server.close();
        threads.close();
    }

    private static InetSocketAddress anyPort() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private HvdRuntime worker(int number) {
        Map<String, String> environment = new HashMap<>();
        environment.put("HOROVOD_ELASTIC", "1");
        environment.put("HOROVOD_ELASTIC_WORKER", Integer.toString(number));
        environment.put("HOROVOD_ELASTIC_PORT", Integer.toString(desk.address().getPort()));
        environment.put("HOROVOD_HOSTNAME", "alpha");
        environment.put("HOROVOD_RENDEZVOUS_ADDR", "127.0.0.1");
        environment.put("HOROVOD_RENDEZVOUS_PORT", Integer.toString(server.address().getPort()));
        environment.put("HOROVOD_RENDEZVOUS_SERVER", "launcher");
        environment.put("HOROVOD_SECRET_KEY", secret.encode());
        environment.put("HOROVOD_AUTOTUNE", "1");
        environment.put("HOROVOD_TIMELINE", folder.resolve("trace.json").toString());
        return new HvdRuntime(environment);
    }

    /// Starts a worker on a new thread.
    private Future<Rank> start(HvdRuntime worker, List<List<Integer>> processSets) {
        return threads.submit(() -> worker.start(processSets));
    }

    @Test
    void workerGetsANewRankInEachGeneration() throws Exception {
        try (HvdRuntime first = worker(0);
                HvdRuntime second = worker(1)) {
            List<List<Integer>> sets = List.of(List.of(1), List.of(0));
            Future<Rank> one = start(first, sets);
            Future<Rank> other = start(second, sets);
            assertThat(List.of(readies.take(), readies.take()))
                    .containsExactlyInAnyOrder("0 from -1", "1 from -1");
            server.beginGeneration(0, 2);
            desk.assign(0, new WorkerPlacement(0, 0, 2, 0, 1, 0, 2, true));
            desk.assign(1, new WorkerPlacement(0, 1, 2, 0, 1, 1, 2, true));
            Rank rank = other.get();
            Communicator comm = rank.communicator();
            assertThat(List.of(comm.rank(), comm.size(), comm.localRank(), comm.localSize()))
                    .containsExactly(1, 2, 0, 1);
            assertThat(List.of(comm.crossRank(), comm.crossSize())).containsExactly(1, 2);
            assertThat(rank.membership().generation()).isZero();
            assertThat(rank.membership().sync()).isTrue();

            one.get().abort("the test wants it");
            assertThatThrownBy(() -> comm.allreduce("sum", new float[1], ReduceOp.SUM))
                    .isInstanceOf(PeerLostException.class);
            assertThat(rank.canRejoin()).isTrue();
            rank.membership().stateSynced();
            rank.close();

            Future<Rank> again = start(second, List.of());
            assertThat(readies.take()).isEqualTo("1 from 0");
            server.beginGeneration(3, 1);
            desk.assign(1, new WorkerPlacement(3, 0, 1, 0, 1, 0, 1, false));
            try (Rank alone = again.get()) {
                assertThat(alone.communicator().size()).isEqualTo(1);
                assertThat(alone.membership().generation()).isEqualTo(3);
                assertThat(alone.membership().sync()).isFalse();
                assertThat(alone.communicator().processSets())
                        .as("the set of rank 0, under its old number")
                        .extracting(Object::toString)
                        .containsExactly(
                                "process set 0 of ranks [0]", "process set 2 of ranks [0]");
            }
            assertThat(folder).isDirectoryContaining("glob:**/trace.json");
            assertThat(folder).isDirectoryContaining("glob:**/trace.generation-3.json");
        }
    }

    @Test
    void theNextGenerationKeepsWhatTheAutotunerHasFound() throws Exception {
        try (HvdRuntime worker = worker(0)) {
            Future<Rank> starting = start(worker, List.of());
            readies.take();
            server.beginGeneration(0, 1);
            desk.assign(0, new WorkerPlacement(0, 0, 1, 0, 1, 0, 1, true));
            Rank first = starting.get();
            assertThat(first.autotuner()).as("alone there is nothing to tune").isNotNull();
            first.close();

            starting = start(worker, List.of());
            readies.take();
            server.beginGeneration(1, 1);
            desk.assign(0, new WorkerPlacement(1, 0, 1, 0, 1, 0, 1, true));
            try (Rank second = starting.get()) {
                assertThat(second.autotuner()).isSameAs(first.autotuner());
            }
        }
    }

    @Test
    void failedRendezvousIsRetriedInTheNextGeneration() throws Exception {
        try (HvdRuntime worker = worker(5)) {
            Future<Rank> starting = start(worker, List.of());
            assertThat(readies.take()).isEqualTo("5 from -1");
            server.beginGeneration(0, 2);
            desk.assign(5, new WorkerPlacement(0, 1, 2, 1, 2, 0, 1, true));
            server.reportExit(0, 0, "exit code 3");
            assertThat(readies.take()).isEqualTo("5 from -1");
            server.beginGeneration(1, 1);
            desk.assign(5, new WorkerPlacement(1, 0, 1, 0, 1, 0, 1, true));
            try (Rank rank = starting.get()) {
                assertThat(rank.membership().generation()).isEqualTo(1);
            }
        }
    }

    /// Worker 1 had completed its first start when worker 3 was lost; worker 0 had not.
    @Test
    void processSetsAreCreatedWhicheverRanksAreNew() throws Exception {
        List<List<Integer>> sets = List.of(List.of(2), List.of(0));
        try (HvdRuntime first = worker(0);
                HvdRuntime second = worker(1);
                HvdRuntime third = worker(2);
                HvdRuntime fourth = worker(3)) {
            List<Future<Rank>> starting =
                    List.of(start(second, sets), start(third, sets), start(fourth, sets));
            server.beginGeneration(0, 3);
            for (int i = 0; i < 3; i++) {
                readies.take();
            }
            for (int i = 0; i < 3; i++) {
                desk.assign(1 + i, new WorkerPlacement(0, i, 3, i, 3, 0, 1, true));
            }
            for (Future<Rank> each : starting) {
                each.get(); // all start before one aborts, or the others would start again
            }
            for (Future<Rank> each : starting) {
                each.get().abort("the test wants it");
            }

            Future<Rank> one = start(first, sets);
            Future<Rank> other = start(second, List.of());
            readies.take();
            readies.take();
            server.beginGeneration(1, 2);
            desk.assign(0, new WorkerPlacement(1, 0, 2, 0, 2, 0, 1, true));
            desk.assign(1, new WorkerPlacement(1, 1, 2, 1, 2, 0, 1, true));
            try (Rank newcomer = one.get();
                    Rank survivor = other.get()) {
                assertThat(List.of(newcomer, survivor))
                        .extracting(rank -> rank.processSets().ranksById())
                        .as("the set of a rank that is not there any more is left out")
                        .containsOnly(new TreeMap<>(Map.of(2, List.of(0))));
            }
        }
    }

    /// While other hooks run, the launcher must not consider the process hung.
    @Test
    void endingProcessKeepsItsLauncherConnection() throws Exception {
        try (HvdRuntime worker = worker(0)) {
            Future<Rank> starting = start(worker, List.of());
            readies.take();
            server.beginGeneration(0, 1);
            desk.assign(0, new WorkerPlacement(0, 0, 1, 0, 1, 0, 1, true));
            starting.get().abort("its process ends");
            worker.onProcessExit();

            starting = start(worker, List.of());
            assertThat(readies.take()).isEqualTo("0 from -1");
            server.beginGeneration(1, 1);
            desk.assign(0, new WorkerPlacement(1, 0, 1, 0, 1, 0, 1, true));
            starting.get().close();
        }
    }

    @Test
    void aWorkerWithoutAPlaceIsDismissed() throws Exception {
        try (HvdRuntime worker = worker(2)) {
            Future<Rank> starting = start(worker, List.of());
            readies.take();
            desk.dismiss(2, "there are enough of them");
            assertThatThrownBy(starting::get)
                    .cause()
                    .isInstanceOf(DismissedException.class)
                    .hasMessage("there are enough of them");
        }
    }
}
