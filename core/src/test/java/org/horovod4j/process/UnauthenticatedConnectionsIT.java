package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/// Connections from outside the job, to every port of a running job.
class UnauthenticatedConnectionsIT {
    private static final int SIZE = 3;
    private static final int CALLS = 50;
    private static final byte[] HTTP = "GET / HTTP/1.1\r\nHost: alpha\r\n\r\n".getBytes(US_ASCII);

    /// The first bytes of a real connection.
    private static final byte[] MAGIC = "Hvd4J\r\n".getBytes(US_ASCII);

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
                assertThat(values[1]).isEqualTo(SIZE);
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
            List<Integer> ports = new ArrayList<>();
            for (TestRankProcess rank : testJob.ranks()) {
                TcpSockets.of(rank.pid()).listening().forEach(each -> ports.add(each.localPort()));
            }
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
