package org.horovod4j.elastic.desk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DismissedException;
import org.horovod4j.PeerLostException;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Line;
import org.horovod4j.trust.Protection;
import org.horovod4j.trust.Secret;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.DataOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

/// What workers and driver say to each other, over real sockets.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
final class WorkerDeskTest {
    private static final Duration CALM = Duration.ofSeconds(30);
    private static final Duration IMPATIENT = Duration.ofMillis(300);

    private final Secret secret;
    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

    WorkerDeskTest(Protection protection) {
        this.secret = Secret.random().with(protection);
    }

    private WorkerDesk open(Duration heartbeatTimeout) {
        return WorkerDesk.open(
                secret,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                heartbeatTimeout,
                new WorkerDesk.Listener() {
                    @Override
                    public void ready(int worker, int generation, String why) {
                        heard.add("ready %d from %d '%s'".formatted(worker, generation, why));
                    }

                    @Override
                    public void lost(int worker, String how) {
                        heard.add("lost %d: %s".formatted(worker, how));
                    }
                });
    }

    private WorkerLine dial(WorkerDesk desk, int worker) {
        return WorkerLine.dial(secret, List.of(desk.address()), worker, CALM, CALM);
    }

    private static Place place(int generation, int rank) {
        return new Place(generation, rank, 2, rank, 2, 0, 1, true);
    }

    private static CompletableFuture<WorkerLine.Seat> ready(
            WorkerLine worker, int generation, String why) {
        CompletableFuture<WorkerLine.Seat> seat = new CompletableFuture<>();
        Thread.startVirtualThread(
                () -> {
                    try {
                        seat.complete(worker.ready(generation, why));
                    } catch (RuntimeException e) {
                        seat.completeExceptionally(e);
                    }
                });
        return seat;
    }

    @Test
    void aWorkerGetsOnePlaceAfterTheOther() throws Exception {
        try (WorkerDesk desk = open(CALM);
                WorkerLine worker = dial(desk, 7)) {
            var first = ready(worker, -1, "");
            assertThat(heard.take()).isEqualTo("ready 7 from -1 ''");
            desk.assign(7, place(0, 1));
            assertThat(first.get().place()).isEqualTo(place(0, 1));

            var second = ready(worker, 0, "rank 0 is lost");
            assertThat(heard.take()).isEqualTo("ready 7 from 0 'rank 0 is lost'");
            desk.assign(7, place(0, 0)); // late, of a generation that it has left
            desk.assign(7, place(1, 0));
            assertThat(second.get().place()).isEqualTo(place(1, 0));
        }
    }

    @Test
    void aWorkerHearsWhetherOthersTrainAlready() throws Exception {
        try (WorkerDesk desk = open(CALM);
                WorkerLine first = dial(desk, 0)) {
            assertThat(first.isAwaited()).isFalse();
            var seat = ready(first, -1, "");
            heard.take();
            desk.assign(0, place(0, 0));
            assertThat(seat.get().place()).isEqualTo(place(0, 0));
            try (WorkerLine second = dial(desk, 1)) {
                assertThat(second.isAwaited()).isTrue();
            }
        }
    }

    @Test
    void allWorkersOfAGenerationCountChangesFromTheSameStamp() throws Exception {
        try (WorkerDesk desk = open(CALM);
                WorkerLine early = dial(desk, 0);
                WorkerLine late = dial(desk, 1)) {
            var first = ready(early, -1, "");
            var second = ready(late, -1, "");
            heard.take();
            heard.take();
            desk.hostsUpdated(3);
            desk.assign(0, place(0, 0));
            desk.hostsUpdated(5);
            desk.assign(1, place(0, 1));

            assertThat(first.get().stamp()).isEqualTo(3);
            assertThat(second.get().stamp()).isEqualTo(3);
            await().atMost(CALM)
                    .untilAsserted(
                            () -> {
                                assertThat(early.newestStamp()).isEqualTo(5);
                                assertThat(late.newestStamp()).isEqualTo(5);
                            });

            var next = ready(early, 0, "");
            heard.take();
            desk.assign(0, place(1, 0));
            assertThat(next.get().stamp()).isEqualTo(5);
        }
    }

    @Test
    void aDismissedWorkerHearsWhyWheneverItAsks() throws Exception {
        WorkerDesk desk = open(CALM);
        try (WorkerLine worker = dial(desk, 0)) {
            var waiting = ready(worker, -1, "");
            heard.take();
            desk.dismiss(0, "its host is gone from the list");
            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOf(DismissedException.class)
                    .hasMessage("its host is gone from the list");
            desk.close();
            assertThat(heard.take()).isEqualTo("lost 0: its connection closed");
            assertThatThrownBy(() -> worker.ready(0, "")).isInstanceOf(DismissedException.class);
        }
    }

    @Test
    void aWorkerThatWaitsHearsOfTheEndOfTheLauncher() throws Exception {
        WorkerDesk desk = open(CALM);
        try (WorkerLine worker = dial(desk, 4)) {
            var waiting = ready(worker, 2, "");
            heard.take();
            desk.close();
            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOfSatisfying(
                            PeerLostException.class, e -> assertThat(e.lostRank()).isEqualTo(-1))
                    .hasMessageContaining("elastic worker 4: the launcher")
                    .hasMessageContaining("is gone: its connection closed");
        }
    }

    @Test
    void theDriverHearsOfAWorkerThatEnds() throws Exception {
        try (WorkerDesk desk = open(CALM)) {
            WorkerLine worker = dial(desk, 1);
            var _ = ready(worker, -1, "");
            assertThat(heard.take()).isEqualTo("ready 1 from -1 ''");
            worker.close();
            assertThat(heard.take()).isEqualTo("lost 1: its connection closed");
            desk.assign(1, place(0, 0)); // too late, and nobody minds
        }
    }

    @Test
    void theDriverHearsOfAWorkerThatFallsSilent() throws Exception {
        try (WorkerDesk desk = open(IMPATIENT);
                SocketChannel channel = SocketChannel.open(desk.address());
                Line stopped = new Handshake(secret, Purpose.DESK).dial(channel)) {
            DataOutputStream out = new DataOutputStream(stopped.output());
            WordCodec.write(new Word.Ready(3, -1, ""), out);
            assertThat(heard.take()).isEqualTo("ready 3 from -1 ''");
            assertThat(heard.take()).isEqualTo("lost 3: silent for 0.3 s");
        }
    }

    @Test
    void nobodyTakesTheNumberOfAWorkerThatIsThere() throws Exception {
        try (WorkerDesk desk = open(CALM);
                WorkerLine worker = dial(desk, 1);
                WorkerLine impostor = dial(desk, 1)) {
            var seat = ready(worker, -1, "");
            assertThat(heard.take()).isEqualTo("ready 1 from -1 ''");
            assertThatThrownBy(() -> impostor.ready(-1, "")).isInstanceOf(PeerLostException.class);
            desk.assign(1, place(0, 1));
            assertThat(seat.get().place()).isEqualTo(place(0, 1));
            assertThat(heard).as("the impostor's end is not the worker's").isEmpty();
        }
    }

    @Test
    void strangersDoNotReachTheDesk() throws Exception {
        try (WorkerDesk desk = open(CALM)) {
            Secret other = Secret.random().with(Protection.AUTHENTICATED);
            assertThatThrownBy(
                            () ->
                                    WorkerLine.dial(
                                            other,
                                            List.of(desk.address()),
                                            0,
                                            CALM,
                                            Duration.ofSeconds(5)))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("asking for a place as elastic worker 0");
            assertThat(heard).isEmpty();
        }
    }

    @Test
    void stampsOnlyGrow() {
        try (WorkerDesk desk = open(CALM)) {
            desk.hostsUpdated(2);
            assertThatThrownBy(() -> desk.hostsUpdated(2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("stamp 2 after stamp 2");
        }
    }
}
