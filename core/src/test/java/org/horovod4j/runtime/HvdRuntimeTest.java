package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.ReduceOp;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Secret;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/// Ranks that start from environment variables, as under `horovodrun`, but as threads.
class HvdRuntimeTest {
    private static final int SIZE = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @ParameterizedTest
    @ValueSource(strings = {"auto", "tcp"})
    void ranksLeaveAndJoinAgainWithTheSameNumbers(String transport) throws Exception {
        run(
                (rank, environment) -> environment.put("HOROVOD_TRANSPORT", transport),
                HvdRuntimeTest::joinTwice);
    }

    @Test
    void ranksWithDifferentAlgorithmsAreRefusedOnEveryRank() throws Exception {
        run(
                (rank, environment) ->
                        environment.put("HOROVOD_ALLREDUCE_ALGORITHM", rank == 1 ? "ring" : "tree"),
                environment -> {
                    try (HvdRuntime runtime = new HvdRuntime(environment)) {
                        assertThatThrownBy(runtime::start)
                                .isInstanceOf(ConfigurationException.class)
                                .hasMessageContainingAll(
                                        "HOROVOD_ALLREDUCE_ALGORITHM", "tree, ring, tree");
                    }
                });
    }

    @Test
    void configuredLocalAndCrossRanksOverrideHostNames() throws Exception {
        run(
                (rank, environment) -> {
                    environment.put("HOROVOD_LOCAL_RANK", Integer.toString(rank));
                    environment.put("HOROVOD_LOCAL_SIZE", Integer.toString(SIZE));
                },
                environment -> {
                    try (HvdRuntime runtime = new HvdRuntime(environment);
                            Rank rank = runtime.start()) {
                        Communicator comm = rank.communicator();
                        assertThat(comm.localRank()).isEqualTo(comm.rank());
                        assertThat(comm.localSize()).isEqualTo(SIZE);
                        comm.barrier();
                    }
                });
    }

    /// Runs a body for each rank, each with its own environment.
    private static void run(
            BiConsumer<Integer, Map<String, String>> setting, Consumer<Map<String, String>> body)
            throws Exception {
        Secret secret = Secret.random();
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (RendezvousServer server =
                        RendezvousServer.start(secret, SIZE, anyPort, PATIENCE, PATIENCE);
                ExecutorService threads = Executors.newFixedThreadPool(SIZE)) {
            List<Future<?>> ranks = new ArrayList<>();
            for (int rank = 0; rank < SIZE; rank++) {
                Map<String, String> environment = environment(rank, server.address(), secret);
                setting.accept(rank, environment);
                ranks.add(threads.submit(() -> body.accept(environment)));
            }
            for (Future<?> rank : ranks) {
                rank.get();
            }
        }
    }

    private static Map<String, String> environment(
            int rank, InetSocketAddress server, Secret secret) {
        Map<String, String> environment = new HashMap<>();
        environment.put("HOROVOD_RANK", Integer.toString(rank));
        environment.put("HOROVOD_SIZE", Integer.toString(SIZE));
        environment.put("HOROVOD_HOSTNAME", rank == 0 ? "first" : "second");
        environment.put("HOROVOD_RENDEZVOUS_ADDR", server.getAddress().getHostAddress());
        environment.put("HOROVOD_RENDEZVOUS_PORT", Integer.toString(server.getPort()));
        environment.put("HOROVOD_RENDEZVOUS_SERVER", "launcher");
        environment.put("HOROVOD_SECRET_KEY", secret.encode());
        return environment;
    }

    private static void joinTwice(Map<String, String> environment) {
        int expected = Integer.parseInt(environment.getOrDefault("HOROVOD_RANK", ""));
        try (HvdRuntime runtime = new HvdRuntime(environment)) {
            for (int time = 0; time < 2; time++) {
                try (Rank rank = runtime.start()) {
                    Communicator comm = rank.communicator();
                    assertThat(comm.rank()).isEqualTo(expected);
                    assertThat(comm.size()).isEqualTo(SIZE);
                    assertThat(comm.localRank()).isEqualTo(expected); // one machine with two names
                    assertThat(comm.crossSize()).isEqualTo(1);
                    float[] tensor = {1};
                    comm.allreduce("t", tensor, ReduceOp.SUM);
                    assertThat(tensor).containsExactly(SIZE);
                }
            }
        }
    }
}
