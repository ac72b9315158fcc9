package org.horovod4j.benchmarks;

import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

/// What a network carries at most: every host sends to the next one, over one plain TCP connection, as
/// many bytes as a ring allreduce has to. Nothing is added, and no byte waits for another.
///
/// Arguments: NUMBER HOSTS PORT BYTES ROUND OUTPUT. NUMBER is the number of this host, from 0. HOSTS is a
/// comma-separated list of addresses, and BYTES the size of the tensor.
final class PlainRing {
    private static final int BUFFER_BYTES = 256 * 1024;
    private static final int REPEATS = 3;
    private static final Duration START_TIMEOUT = Duration.ofSeconds(30);

    private PlainRing() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        int number = Integer.parseInt(arguments[0]);
        String[] hosts = arguments[1].split(",", -1);
        int port = Integer.parseInt(arguments[2]);
        int byteSize = Integer.parseInt(arguments[3]);
        long toSend = 2L * (hosts.length - 1) * byteSize / hosts.length;
        try (ServerSocket server = new ServerSocket(port);
                Socket right = connect(hosts[(number + 1) % hosts.length], port);
                Socket left = server.accept()) {
            double[] micros = new double[REPEATS];
            for (int i = 0; i < REPEATS; i++) {
                long start = System.nanoTime();
                Thread sender = Thread.ofPlatform().start(() -> send(right, toSend));
                receive(left, toSend);
                sender.join();
                micros[i] = (System.nanoTime() - start) * 1e-3;
            }
            if (number == 0) {
                new Result(
                                "plain",
                                "tcp",
                                hosts.length,
                                byteSize,
                                Integer.parseInt(arguments[4]),
                                1,
                                Percentiles.of(micros))
                        .appendTo(Path.of(arguments[5]));
            }
        }
    }

    /// Tries until the other host listens.
    private static Socket connect(String host, int port) throws IOException, InterruptedException {
        Instant deadline = Instant.now().plus(START_TIMEOUT);
        while (true) {
            Socket socket = new Socket();
            try {
                socket.connect(new InetSocketAddress(host, port));
                return socket;
            } catch (IOException e) {
                socket.close();
                if (Instant.now().isAfter(deadline)) {
                    throw e;
                }
                Thread.sleep(Duration.ofMillis(10));
            }
        }
    }

    private static void send(Socket socket, long bytes) {
        byte[] buffer = new byte[BUFFER_BYTES];
        try {
            OutputStream out = socket.getOutputStream();
            for (long rest = bytes; rest > 0; rest -= buffer.length) {
                out.write(buffer, 0, (int) Math.min(rest, buffer.length));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void receive(Socket socket, long bytes) throws IOException {
        byte[] buffer = new byte[BUFFER_BYTES];
        InputStream in = socket.getInputStream();
        long rest = bytes;
        while (rest > 0) {
            int count = in.read(buffer, 0, (int) Math.min(rest, buffer.length));
            if (count < 0) {
                throw new IOException("the host before this one has closed its connection");
            }
            rest -= count;
        }
    }
}
