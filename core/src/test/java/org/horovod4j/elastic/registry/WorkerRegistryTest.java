package org.horovod4j.elastic.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DismissedException;
import org.horovod4j.PeerLostException;
import org.horovod4j.frame.Frame;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
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

/// Tests workers and registry over real sockets.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
@Timeout(60)
final class WorkerRegistryTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofSeconds(5);

    private final Secret secret;
    private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    WorkerRegistryTest(Protection protection) {
        this.secret = Secret.random().withProtection(protection);
    }

    private WorkerRegistry open(Duration heartbeatTimeout) {
        return WorkerRegistry.open(
                secret,
                List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
                heartbeatTimeout,
                new WorkerRegistry.Listener() {
                    @Override
                    public void ready(int worker, int generation, String failure) {
                        events.add("ready %d from %d '%s'".formatted(worker, generation, failure));
                    }

                    @Override
                    public void lost(int worker, String reason) {
                        events.add("lost %d: %s".formatted(worker, reason));
                    }
                });
    }

    private RegistryClient connect(WorkerRegistry registry, int worker) {
        return RegistryClient.connect(secret, List.of(registry.address()), worker, LONG, LONG);
    }

    private static WorkerPlacement placement(int generation, int rank) {
        return new WorkerPlacement(generation, rank, 2, rank, 2, 0, 1, true);
    }

    private static CompletableFuture<RegistryClient.WorkerAssignment> requestAssignment(
            RegistryClient worker, int generation, String failure) {
        CompletableFuture<RegistryClient.WorkerAssignment> assignment = new CompletableFuture<>();
        Thread.startVirtualThread(
                () -> {
                    try {
                        assignment.complete(worker.requestAssignment(generation, failure));
                    } catch (RuntimeException e) {
                        assignment.completeExceptionally(e);
                    }
                });
        return assignment;
    }

    @Test
    void workerReceivesSuccessiveAssignments() throws Exception {
        try (WorkerRegistry registry = open(LONG);
                RegistryClient worker = connect(registry, 7)) {
            var first = requestAssignment(worker, -1, "");
            assertThat(events.take()).isEqualTo("ready 7 from -1 ''");
            registry.assign(7, placement(0, 1));
            assertThat(first.get().placement()).isEqualTo(placement(0, 1));

            var second = requestAssignment(worker, 0, "rank 0 is lost");
            assertThat(events.take()).isEqualTo("ready 7 from 0 'rank 0 is lost'");
            registry.assign(7, placement(0, 0)); // too late: the worker has left this generation
            registry.assign(7, placement(1, 0));
            assertThat(second.get().placement()).isEqualTo(placement(1, 0));
        }
    }

    @Test
    void workerLearnsWhetherTrainingHasStarted() throws Exception {
        try (WorkerRegistry registry = open(LONG);
                RegistryClient first = connect(registry, 0)) {
            assertThat(first.isTrainingStarted()).isFalse();
            var assignment = requestAssignment(first, -1, "");
            events.take();
            registry.assign(0, placement(0, 0));
            assertThat(assignment.get().placement()).isEqualTo(placement(0, 0));
            try (RegistryClient second = connect(registry, 1)) {
                assertThat(second.isTrainingStarted()).isTrue();
            }
        }
    }

    @Test
    void allWorkersOfAGenerationShareOneHostsVersion() throws Exception {
        try (WorkerRegistry registry = open(LONG);
                RegistryClient early = connect(registry, 0);
                RegistryClient late = connect(registry, 1)) {
            var first = requestAssignment(early, -1, "");
            var second = requestAssignment(late, -1, "");
            events.take();
            events.take();
            registry.hostsUpdated(3);
            registry.assign(0, placement(0, 0));
            registry.hostsUpdated(5);
            registry.assign(1, placement(0, 1));

            assertThat(first.get().hostsVersion()).isEqualTo(3);
            assertThat(second.get().hostsVersion()).isEqualTo(3);
            await().atMost(LONG)
                    .untilAsserted(
                            () -> {
                                assertThat(early.latestHostsVersion()).isEqualTo(5);
                                assertThat(late.latestHostsVersion()).isEqualTo(5);
                            });

            var next = requestAssignment(early, 0, "");
            events.take();
            registry.assign(0, placement(1, 0));
            assertThat(next.get().hostsVersion()).isEqualTo(5);
        }
    }

    @Test
    void dismissedWorkerReceivesReasonOnEveryRequest() throws Exception {
        WorkerRegistry registry = open(LONG);
        try (RegistryClient worker = connect(registry, 0)) {
            var waiting = requestAssignment(worker, -1, "");
            events.take();
            registry.dismiss(0, "its host is gone from the list");
            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOf(DismissedException.class)
                    .hasMessage("its host is gone from the list");
            registry.close();
            assertThat(events.take()).startsWith("lost 0: its connection ");
            assertThatThrownBy(() -> worker.requestAssignment(0, ""))
                    .isInstanceOf(DismissedException.class);
        }
    }

    @Test
    void launcherLossFailsPendingRequest() throws Exception {
        WorkerRegistry registry = open(LONG);
        try (RegistryClient worker = connect(registry, 4)) {
            var waiting = requestAssignment(worker, 2, "");
            events.take();
            registry.close();
            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOfSatisfying(
                            PeerLostException.class, e -> assertThat(e.lostRank()).isEqualTo(-1))
                    .hasMessageContaining("elastic worker 4: the launcher")
                    .hasMessageContaining("is gone: its connection ");
        }
    }

    @Test
    void closedWorkerConnectionIsReportedLost() throws Exception {
        try (WorkerRegistry registry = open(LONG)) {
            RegistryClient worker = connect(registry, 1);
            var _ = requestAssignment(worker, -1, "");
            assertThat(events.take()).isEqualTo("ready 1 from -1 ''");
            worker.close();
            assertThat(events.take()).startsWith("lost 1: its connection ");
            registry.assign(1, placement(0, 0)); // too late: ignored
        }
    }

    @Test
    void silentWorkerIsReportedLost() throws Exception {
        try (WorkerRegistry registry = open(SHORT);
                SocketChannel channel = SocketChannel.open(registry.address());
                SecureConnection silent =
                        new Handshake(secret, Purpose.REGISTRY).initiate(channel)) {
            DataOutputStream out = new DataOutputStream(silent.output());
            Frame.write(
                    RegistryMessageCodec.INSTANCE.encode(new RegistryMessage.Ready(3, -1, "")),
                    out);
            assertThat(events.take()).isEqualTo("ready 3 from -1 ''");
            assertThat(events.take()).isEqualTo("lost 3: silent for 5 s");
        }
    }

    @Test
    void duplicateWorkerNumberIsRejected() throws Exception {
        try (WorkerRegistry registry = open(LONG);
                RegistryClient worker = connect(registry, 1);
                RegistryClient duplicate = connect(registry, 1)) {
            var assignment = requestAssignment(worker, -1, "");
            assertThat(events.take()).isEqualTo("ready 1 from -1 ''");
            assertThatThrownBy(() -> duplicate.requestAssignment(-1, ""))
                    .isInstanceOf(PeerLostException.class);
            registry.assign(1, placement(0, 1));
            assertThat(assignment.get().placement()).isEqualTo(placement(0, 1));
            assertThat(events).as("the duplicate's disconnect is not the worker's").isEmpty();
        }
    }

    @Test
    void unauthenticatedConnectionsAreRejected() throws Exception {
        try (WorkerRegistry registry = open(LONG)) {
            Secret other = Secret.random().withProtection(Protection.AUTHENTICATED);
            assertThatThrownBy(
                            () ->
                                    RegistryClient.connect(
                                            other,
                                            List.of(registry.address()),
                                            0,
                                            LONG,
                                            Duration.ofSeconds(5)))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("connecting elastic worker 0 to the launcher");
            assertThat(events).isEmpty();
        }
    }

    @Test
    void hostsVersionMustIncrease() {
        try (WorkerRegistry registry = open(LONG)) {
            registry.hostsUpdated(2);
            assertThatThrownBy(() -> registry.hostsUpdated(2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("hosts version 2 after 2");
        }
    }
}
