package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankDeparture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;

/// Ranks of one JVM that join, allgather, survey and leave.
final class LocalRendezvousTest {
    private static final int SIZE = 3;

    private final LocalRendezvous rendezvous = new LocalRendezvous(SIZE);
    private final List<ControlPlane> planes = new ArrayList<>();
    private final List<RecordingListener> listeners = new ArrayList<>();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    LocalRendezvousTest() throws Exception {
        List<Future<?>> joining = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            ControlPlane plane = rendezvous.controlPlane(rank);
            RecordingListener listener = new RecordingListener(rank);
            planes.add(plane);
            listeners.add(listener);
            joining.add(
                    threads.submit(
                            () -> plane.join(RendezvousTestRanks.member(listener.rank), listener)));
        }
        for (Future<?> each : joining) {
            each.get();
        }
    }

    /// Records the losses that a rank received.
    private static final class RecordingListener implements ControlPlane.Listener {
        private final int rank;
        private final BlockingQueue<RankDeparture> losses = new LinkedBlockingQueue<>();

        RecordingListener(int rank) {
            this.rank = rank;
        }

        @Override
        public void rankDeparted(RankDeparture rankDeparture) {
            losses.add(rankDeparture);
        }

        @Override
        public byte[] describe() {
            return ("rank " + rank).getBytes(UTF_8);
        }
    }

    @AfterEach
    void end() {
        threads.close();
    }

    /// Each repetition is one chance that a rank leaves while another looks whether all have come.
    @RepeatedTest(200)
    void rankThatLeavesAfterAnAllgatherDoesNotFailIt() throws Exception {
        List<Future<List<byte[]>>> gathering = new ArrayList<>();
        for (ControlPlane plane : planes) {
            gathering.add(
                    threads.submit(
                            () -> {
                                List<byte[]> all = plane.allgather("last", new byte[1]);
                                plane.leave(Map.of(), true, "done");
                                return all;
                            }));
        }
        for (Future<List<byte[]>> each : gathering) {
            assertThat(each.get()).hasSize(SIZE);
        }
    }

    @Test
    void allgatherTopicCanBeReusedWithoutLeak() throws Exception {
        List<Future<?>> gathering = new ArrayList<>();
        for (ControlPlane plane : planes) {
            int rank = planes.indexOf(plane);
            gathering.add(
                    threads.submit(
                            () -> {
                                for (int round = 0; round < 1000; round++) {
                                    assertThat(plane.allgather("set", contribution(rank, round)))
                                            .usingRecursiveComparison()
                                            .isEqualTo(
                                                    List.of(
                                                            contribution(0, round),
                                                            contribution(1, round),
                                                            contribution(2, round)));
                                }
                            }));
        }
        for (Future<?> each : gathering) {
            each.get();
        }
    }

    @Test
    void lossFailsGatherWithoutLeak() {
        Future<?> waiting = allgatherAndWait();
        planes.getLast().leave(Map.of(), false, "crashed");

        assertThatThrownBy(waiting::get)
                .cause()
                .isInstanceOf(PeerLostException.class)
                .hasMessageContaining("allgather of 'set': rank 2 (host2) is gone: crashed");
        assertThatThrownBy(() -> planes.getFirst().allgather("next", new byte[1]))
                .isInstanceOf(PeerLostException.class);
    }

    @Test
    void orderlyLeaveFailsGatherAndReportsCompletedOperations() throws Exception {
        planes.getLast().leave(Map.of(0, 7L), true, "called shutdown");

        assertThatThrownBy(() -> planes.getFirst().allgather("set", new byte[1]))
                .isInstanceOf(ShutDownException.class)
                .hasMessageContaining("rank 2 on host2 called shutdown");
        RankDeparture received = listeners.getFirst().losses.take();
        assertThat(received.completed(0)).isEqualTo(7);
        assertThat(received.completed(1)).isZero();
        assertThat(listeners.getLast().losses).as("the rank that left receives nothing").isEmpty();
    }

    /// Starts an allgather on the first rank, and returns when it waits for the others.
    private Future<?> allgatherAndWait() {
        FutureTask<?> allgather =
                new FutureTask<>(() -> planes.getFirst().allgather("set", new byte[1]));
        Thread thread = Thread.ofPlatform().daemon().start(allgather);
        await().until(() -> thread.getState().name().endsWith("WAITING"));
        return allgather;
    }

    @Test
    void stopFailsOwnGather() {
        Future<?> waiting = allgatherAndWait();
        planes.getFirst().stop();

        assertThatThrownBy(waiting::get).cause().isInstanceOf(ShutDownException.class);
    }

    @Test
    void surveyReturnsAllRanksThatHaveNotLeft() {
        assertThat(SurveyTest.texts(planes.get(1).survey()))
                .containsExactly("rank 0", "rank 1", "rank 2");
        planes.getFirst().leave(Map.of(), true, "called shutdown");
        assertThat(SurveyTest.texts(planes.get(1).survey()))
                .containsExactly(null, "rank 1", "rank 2");
    }

    private static byte[] contribution(int rank, int round) {
        return new byte[] {(byte) rank, (byte) round};
    }
}
