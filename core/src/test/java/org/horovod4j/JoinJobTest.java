package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Secret;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// Ranks that are threads of one JVM and join a job by settings, over a real rendezvous server.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JoinJobTest {
    private static final int SIZE = 3;
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Secret secret = Secret.random();
    private final RendezvousServer server =
            RendezvousServer.start(
                    secret,
                    SIZE,
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    TIMEOUT,
                    TIMEOUT);

    @AfterEach
    void close() {
        server.close();
    }

    private Map<String, String> settings(int rank) {
        return new HashMap<>(
                Map.of(
                        "HOROVOD_RANK", Integer.toString(rank),
                        "HOROVOD_SIZE", Integer.toString(SIZE),
                        "HOROVOD_HOSTNAME", "alpha",
                        "HOROVOD_RENDEZVOUS_ADDR", "127.0.0.1",
                        "HOROVOD_RENDEZVOUS_PORT", Integer.toString(server.address().getPort()),
                        "HOROVOD_RENDEZVOUS_SERVER", "launcher",
                        "HOROVOD_SECRET_KEY", secret.encode()));
    }

    @Test
    void threadsOfOneJvmJoinAJobBySettings() throws Exception {
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        List<Integer> sums =
                onAllRanks(
                        rank -> {
                            try (Communicator comm = Communicator.joinJob(settings(rank))) {
                                assertThat(comm.rank()).isEqualTo(rank);
                                assertThat(comm.size()).isEqualTo(SIZE);
                                assertThat(comm.localSize()).isEqualTo(SIZE);
                                int[] sum = {rank};
                                comm.allreduce("sum", sum, ReduceOp.SUM);
                                ProcessSet pair = comm.addProcessSet(0, 2);
                                if (pair.isIncluded()) {
                                    pair.communicator().allreduce("sum", sum, ReduceOp.SUM);
                                }
                                comm.barrier();
                                return sum[0];
                            }
                        });
        assertThat(sums).containsExactly(6, 3, 6);
        assertThat(Hvd.isInitialized()).isFalse();
        assertThat(Thread.getDefaultUncaughtExceptionHandler()).isSameAs(before);
    }

    @Test
    void rankThatLeavesEndsTheOperationsOfOthers() throws Exception {
        List<String> failures =
                onAllRanks(
                        rank -> {
                            Communicator comm = Communicator.joinJob(settings(rank));
                            comm.barrier();
                            if (rank == 1) {
                                comm.shutdown();
                                return "";
                            }
                            try {
                                comm.allreduce("sum", new int[1], ReduceOp.SUM);
                                return "no failure";
                            } catch (ShutDownException e) {
                                comm.shutdown();
                                return String.valueOf(e.getMessage());
                            }
                        });
        assertThat(failures.get(0)).contains("rank 1");
        assertThat(failures.get(2)).contains("rank 1");
    }

    @Test
    void unknownSettingIsRefused() {
        Map<String, String> settings = settings(0);
        settings.put("HOROVOD_FUSION_TRESHOLD", "0");
        assertThatThrownBy(() -> Communicator.joinJob(settings))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_FUSION_TRESHOLD")
                .hasMessageContaining("Did you mean HOROVOD_FUSION_THRESHOLD?");
    }

    @Test
    void wrongValueIsRefused() {
        Map<String, String> settings = settings(0);
        settings.put("HOROVOD_RANK", "minus one");
        assertThatThrownBy(() -> Communicator.joinJob(settings))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_RANK");
    }

    private interface Body<T> {
        T run(int rank) throws Exception;
    }

    private static <T> List<T> onAllRanks(Body<T> body) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(SIZE)) {
            List<Callable<T>> calls = new ArrayList<>();
            for (int rank = 0; rank < SIZE; rank++) {
                int mine = rank;
                calls.add(() -> body.run(mine));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> result : threads.invokeAll(calls)) {
                results.add(result.get());
            }
            return results;
        }
    }
}
