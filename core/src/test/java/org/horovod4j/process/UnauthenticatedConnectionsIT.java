package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.testsupport.TcpSockets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/// Connections from outside the job, to every port of a running job.
class UnauthenticatedConnectionsIT {
    private static final int SIZE = 3;
    private static final int CALLS = 50;
    private static final byte[] HTTP = "GET / HTTP/1.1\r\nHost: alpha\r\n\r\n".getBytes(US_ASCII);

    /// The first bytes of a real connection.
    private static final byte[] MAGIC = "Hvd4J\r\n".getBytes(US_ASCII);

    /// Runs a command as another user with at most 300 threads. That user has no other process, and
    /// may read the class path in root's home.
    private static final String[] LIMITED_USER = {
        "prlimit",
        "--nproc=300",
        "setpriv",
        "--reuid=1234567",
        "--clear-groups",
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search"
    };

    /// Sums until the test sends a signal.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            System.out.println("ready");
            float[] values = new float[10_007];
            do {
                values[0] = TestSignal.isReceived() ? 1 : 0;
                values[1] = 1;
                Hvd.allreduce("values", values, ReduceOp.SUM);
                assertThat(values[1]).isEqualTo(Hvd.size());
            } while (values[0] == 0);
            Hvd.shutdown();
        }
    }

    @Test
    void unauthenticatedConnectionsDoNotAffectRunningJob() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(SIZE, Worker.class)
                        .with(Options.TRANSPORT, "tcp")
                        .servedBy(RendezvousHost.RANK0);
        List<Socket> halfOpen = new ArrayList<>();
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("ready");
            List<Integer> ports = portsOf(testJob.ranks());
            assertThat(ports).as("a port for each rank, and one to meet").hasSize(SIZE + 1);
            for (int port : ports) {
                sendUnauthenticated(port, halfOpen);
            }
            testJob.ranks().forEach(rank -> rank.awaitWords("WARNING: Refused a connection"));
            testJob.rank(0).sendSignal();
            testJob.awaitSuccess();
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(refusals(rank))
                        .as(rank.output())
                        // Per address, a port logs each kind of refusal once: wrong protocol,
                        // closed connection, no data.
                        .hasSizeLessThanOrEqualTo(rank.rank() == 0 ? 6 : 3);
            }
        } finally {
            for (Socket socket : halfOpen) {
                socket.close();
            }
        }
    }

    /// The last rank starts while silent connections flood every port of rank 0, and the job runs
    /// on meanwhile.
    @Test
    void jobStartsAndRunsDuringFlood() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class)
                        .with(Options.TRANSPORT, "tcp")
                        .with(Options.START_TIMEOUT, "30")
                        .servedBy(RendezvousHost.RANK0);
        try (TestJob testJob = plan.prepare()) {
            TestRankProcess first = testJob.start(0);
            await().atMost(TestJob.TIMEOUT)
                    .until(() -> TcpSockets.of(first.pid()).listening().size() == 2);
            int threads = threadCount(first);
            try (Flood flood = new Flood(portsOf(List.of(first)), 5_000)) {
                flood.fill();
                flood.keepUp();
                long start = System.nanoTime();
                testJob.start(1);
                testJob.awaitLine("ready");
                System.out.println(
                        "ready after %d ms".formatted((System.nanoTime() - start) / 1_000_000));
                flood.awaitConnections(2_000);
                assertThat(threadCount(first)).isLessThan(threads + 20);
                assertThat(TcpSockets.of(first.pid()).established()).hasSizeLessThan(1_000);
                first.sendSignal();
                testJob.awaitSuccess();
            }
        }
    }

    /// The ranks run as a user that may have 300 threads, and each of their ports has 500 silent
    /// connections.
    @Test
    void silentConnectionsTakeNoThreads() throws IOException {
        assumeTrue(
                Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0),
                "only root can change its user, and the limit does not hold for root");
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class)
                        .with(Options.TRANSPORT, "tcp")
                        .servedBy(RendezvousHost.RANK0)
                        .withCommandPrefix(0, LIMITED_USER)
                        .withCommandPrefix(1, LIMITED_USER);
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("ready");
            List<Integer> threads = new ArrayList<>();
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(Path.of("/proc", "" + rank.pid(), "limits"))
                        .content()
                        .containsPattern("Max processes +300 +300 ");
                threads.add(threadCount(rank));
            }
            List<Integer> ports = portsOf(testJob.ranks());
            try (Flood flood = new Flood(ports, 500 * ports.size())) {
                flood.fill();
                flood.keepUp();
                flood.awaitConnections(500);
                for (TestRankProcess rank : testJob.ranks()) {
                    assertThat(threadCount(rank)).isLessThan(threads.get(rank.rank()) + 20);
                }
                testJob.rank(0).sendSignal();
                testJob.awaitSuccess();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ranksOfOneHostListenOnLoopbackOnly(boolean byLocalSize) throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class)
                        .with(Options.TRANSPORT, "tcp")
                        .servedBy(RendezvousHost.RANK0);
        if (byLocalSize) {
            plan.with(Options.LOCAL_SIZE, "2")
                    .with(0, Options.LOCAL_RANK, "0")
                    .with(1, Options.LOCAL_RANK, "1");
        } else {
            plan.with(Options.NETWORK_INTERFACES, "lo");
        }
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("ready");
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(TcpSockets.of(rank.pid()).listening())
                        .isNotEmpty()
                        .allMatch(socket -> socket.localAddress().isLoopbackAddress());
            }
            testJob.rank(0).sendSignal();
            testJob.awaitSuccess();
        }
    }

    /// Silent connections to some ports. A thread replaces the oldest by new ones.
    private static final class Flood implements AutoCloseable {
        private final List<Integer> ports;
        private final int count;
        private final Queue<Socket> sockets = new ArrayDeque<>();
        private final AtomicInteger renewed = new AtomicInteger();
        private final Thread renewing = new Thread(this::renew, "flood");
        private volatile boolean closed;

        Flood(List<Integer> ports, int count) {
            this.ports = ports;
            this.count = count;
        }

        void fill() throws IOException {
            for (int i = 0; i < count; i++) {
                sockets.add(open(ports.get(i % ports.size())));
            }
        }

        void keepUp() {
            renewing.start();
        }

        private void renew() {
            for (int i = 0; !closed; i++) {
                try {
                    sockets.add(open(ports.get(i % ports.size())));
                    sockets.remove().close();
                    renewed.incrementAndGet();
                    LockSupport.parkNanos(1_000_000); // leaves the processor to the ranks
                } catch (IOException e) {
                    return; // the job has ended
                }
            }
        }

        void awaitConnections(int more) {
            int target = renewed.get() + more;
            await().atMost(TestJob.TIMEOUT).until(() -> renewed.get() >= target);
        }

        @Override
        public void close() throws IOException {
            closed = true;
            try {
                renewing.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private static List<Integer> portsOf(Collection<TestRankProcess> ranks) throws IOException {
        List<Integer> ports = new ArrayList<>();
        for (TestRankProcess rank : ranks) {
            TcpSockets.of(rank.pid()).listening().forEach(each -> ports.add(each.localPort()));
        }
        return ports;
    }

    private static int threadCount(TestRankProcess rank) throws IOException {
        try (Stream<Path> tasks = Files.list(Path.of("/proc", "" + rank.pid(), "task"))) {
            return (int) tasks.count();
        }
    }

    private static void sendUnauthenticated(int port, List<Socket> halfOpen) throws IOException {
        long seed = System.nanoTime();
        System.out.println("garbage at port %d from seed %d".formatted(port, seed));
        Random random = new Random(seed);
        for (int i = 0; i < CALLS; i++) {
            byte[] garbage = new byte[random.nextInt(1, 1_000)];
            random.nextBytes(garbage);
            send(port, garbage);
            send(port, HTTP);
            send(port, MAGIC);
            halfOpen.add(open(port));
        }
    }

    private static void send(int port, byte[] bytes) throws IOException {
        try (Socket socket = open(port)) {
            socket.getOutputStream().write(bytes);
        }
    }

    private static Socket open(int port) throws IOException {
        return new Socket(InetAddress.getLoopbackAddress(), port);
    }

    private static List<String> refusals(TestRankProcess rank) {
        return rank.lines().stream().filter(line -> line.contains("Refused a connection")).toList();
    }
}
