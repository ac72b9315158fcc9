package org.horovod4j.elastic.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DismissedException;
import org.horovod4j.PeerLostException;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
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
final class WorkerRegistryTest {
    private static final Duration CALM = Duration.ofSeconds(30);
    private static final Duration IMPATIENT = Duration.ofMillis(300);

    private final Secret secret;
    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

    WorkerRegistryTest(Protection protection) {
        this.secret = Secret.random().withProtection(protection);
    }

    private WorkerRegistry open(Duration heartbeatTimeout) {
        return WorkerRegistry.open(
                secret,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                heartbeatTimeout,
                new WorkerRegistry.Listener() {
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

    private RegistryClient connect(WorkerRegistry desk, int worker) {
        return RegistryClient.connect(secret, List.of(desk.address()), worker, CALM, CALM);
    }

    private static WorkerPlacement placement(int generation, int rank) {
        return new WorkerPlacement(generation, rank, 2, rank, 2, 0, 1, true);
    }

    private static CompletableFuture<RegistryClient.WorkerAssignment> requestAssignment(
            RegistryClient worker, int generation, String why) {
        CompletableFuture<RegistryClient.WorkerAssignment> seat = new CompletableFuture<>();
        Thread.startVirtualThread(
                () -> {
                    try {
                        seat.complete(worker.requestAssignment(generation, why));
                    } catch (RuntimeException e) {
                        seat.completeExceptionally(e);
                    }
                });
        return seat;
    }

    @Test
    void workerReceivesSuccessiveAssignments() throws Exception {
        try (WorkerRegistry desk = open(CALM);
                RegistryClient worker = connect(desk, 7)) {
            var first = requestAssignment(worker, -1, "");
            assertThat(heard.take()).isEqualTo("ready 7 from -1 ''");
            desk.assign(7, placement(0, 1));
            assertThat(first.get().placement()).isEqualTo(placement(0, 1));

            var second = requestAssignment(worker, 0, "rank 0 is lost");
            assertThat(heard.take()).isEqualTo("ready 7 from 0 'rank 0 is lost'");
            desk.assign(7, placement(0, 0)); // late, of a generation that it has left
            desk.assign(7, placement(1, 0));
            assertThat(second.get().placement()).isEqualTo(placement(1, 0));
        }
    }

    @Test
    void workerLearnsWhetherTrainingHasStarted() throws Exception {
        try (WorkerRegistry desk = open(CALM);
                RegistryClient first = connect(desk, 0)) {
            assertThat(first.isTrainingStarted()).isFalse();
            var seat = requestAssignment(first, -1, "");
            heard.take();
            desk.assign(0, placement(0, 0));
            assertThat(seat.get().placement()).isEqualTo(placement(0, 0));
            try (RegistryClient second = connect(desk, 1)) {
                assertThat(second.isTrainingStarted()).isTrue();
            }
        }
    }

    @Test
    void allWorkersOfAGenerationShareOneHostsVersion() throws Exception {
        try (WorkerRegistry desk = open(CALM);
                RegistryClient early = connect(desk, 0);
                RegistryClient late = connect(desk, 1)) {
            var first = requestAssignment(early, -1, "");
            var second = requestAssignment(late, -1, "");
            heard.take();
            heard.take();
            desk.hostsUpdated(3);
            desk.assign(0, placement(0, 0));
            desk.hostsUpdated(5);
            desk.assign(1, placement(0, 1));

            assertThat(first.get().hostsVersion()).isEqualTo(3);
            assertThat(second.get().hostsVersion()).isEqualTo(3);
            await().atMost(CALM)
                    .untilAsserted(
                            () -> {
                                assertThat(early.latestHostsVersion()).isEqualTo(5);
                                assertThat(late.latestHostsVersion()).isEqualTo(5);
                            });

            var next = requestAssignment(early, 0, "");
            heard.take();
            desk.assign(0, placement(1, 0));
            assertThat(next.get().hostsVersion()).isEqualTo(5);
        }
    }

    @Test
    void dismissedWorkerReceivesReasonOnEveryRequest() throws Exception {
        WorkerRegistry desk = open(CALM);
        try (RegistryClient worker = connect(desk, 0)) {
            var waiting = requestAssignment(worker, -1, "");
            heard.take();
            desk.dismiss(0, "its host is gone from the list");
            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOf(DismissedException.class)
                    .hasMessage("its host is gone from the list");
            desk.close();
            assertThat(heard.take()).isEqualTo("lost 0: its connection closed");
            assertThatThrownBy(() -> worker.requestAssignment(0, ""))
                    .isInstanceOf(DismissedException.class);
        }
    }

    @Test
    void launcherLossFailsPendingRequest() throws Exception {
        WorkerRegistry desk = open(CALM);
        try (RegistryClient worker = connect(desk, 4)) {
            var waiting = requestAssignment(worker, 2, "");
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
    void closedWorkerConnectionIsReportedLost() throws Exception {
        try (WorkerRegistry desk = open(CALM)) {
            RegistryClient worker = connect(desk, 1);
            var _ = requestAssignment(worker, -1, "");
            assertThat(heard.take()).isEqualTo("ready 1 from -1 ''");
            worker.close();
            assertThat(heard.take()).isEqualTo("lost 1: its connection closed");
            desk.assign(1, placement(0, 0)); // too late, and nobody minds
        }
    }

    @Test
    void silentWorkerIsReportedLost() throws Exception {
        try (WorkerRegistry desk = open(IMPATIENT);
                SocketChannel channel = SocketChannel.open(desk.address());
                SecureConnection stopped =
                        new Handshake(secret, Purpose.REGISTRY).initiate(channel)) {
            DataOutputStream out = new DataOutputStream(stopped.output());
            RegistryMessageCodec.write(new RegistryMessage.Ready(3, -1, ""), out);
            assertThat(heard.take()).isEqualTo("ready 3 from -1 ''");
            assertThat(heard.take()).isEqualTo("lost 3: silent for 0.3 s");
        }
    }

    @Test
    void duplicateWorkerNumberIsRejected() throws Exception {
        try (WorkerRegistry desk = open(CALM);
                RegistryClient worker = connect(desk, 1);
                RegistryClient impostor = connect(desk, 1)) {
            var seat = requestAssignment(worker, -1, "");
            assertThat(heard.take()).isEqualTo("ready 1 from -1 ''");
            assertThatThrownBy(() -> impostor.requestAssignment(-1, ""))
                    .isInstanceOf(PeerLostException.class);
            desk.assign(1, placement(0, 1));
            assertThat(seat.get().placement()).isEqualTo(placement(0, 1));
            assertThat(heard).as("the impostor's end is not the worker's").isEmpty();
        }
    }

    @Test
    void unauthenticatedConnectionsAreRejected() throws Exception {
        try (WorkerRegistry desk = open(CALM)) {
            Secret other = Secret.random().withProtection(Protection.AUTHENTICATED);
            assertThatThrownBy(
                            () ->
                                    RegistryClient.connect(
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
    void hostsVersionMustIncrease() {
        try (WorkerRegistry desk = open(CALM)) {
            desk.hostsUpdated(2);
            assertThatThrownBy(() -> desk.hostsUpdated(2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("stamp 2 after stamp 2");
        }
    }
}
