package org.horovod4j.testsupport;

import java.io.IOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/// Chooses ports for listeners that start later.
///
/// The ports are below the range of ephemeral ports, so no connection takes one meanwhile. Two JVMs that
/// run tests side by side rarely use the same block, and one JVM repeats a port only after a whole block.
public final class FreePort {
    private static final int FIRST = 20_000;
    private static final int BLOCKS = 12;
    private static final int BLOCK_PORTS = 1_000;

    private static final int BLOCK_START =
            FIRST + BLOCK_PORTS * (int) (ProcessHandle.current().pid() % BLOCKS);
    private static final AtomicInteger NEXT =
            new AtomicInteger(ThreadLocalRandom.current().nextInt(BLOCK_PORTS));

    private FreePort() {}

    /// Returns a port that is free at this moment.
    public static int choose() throws IOException {
        for (int attempt = 0; attempt < BLOCK_PORTS; attempt++) {
            int port = BLOCK_START + Math.floorMod(NEXT.getAndIncrement(), BLOCK_PORTS);
            if (isFree(port)) {
                return port;
            }
        }
        throw new IOException(
                "no free port from %d to %d".formatted(BLOCK_START, BLOCK_START + BLOCK_PORTS - 1));
    }

    private static boolean isFree(int port) throws IOException {
        try (ServerSocket socket = new ServerSocket(port)) {
            return socket.isBound();
        } catch (BindException e) {
            return false;
        }
    }
}
