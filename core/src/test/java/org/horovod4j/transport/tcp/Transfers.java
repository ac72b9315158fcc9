package org.horovod4j.transport.tcp;

import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.Link;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Transfers whole segments over a link, like a collective.
final class Transfers {
    private Transfers() {}

    /// Sends a byte and returns the byte that the peer sent.
    static byte exchangeByte(Link link, byte mine) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment in = arena.allocate(1);
            exchange(link, arena.allocateFrom(ValueLayout.JAVA_BYTE, mine), in);
            return in.get(ValueLayout.JAVA_BYTE, 0);
        }
    }

    /// Sends all of `out` and fills all of `in` at the same time.
    static void exchange(Link link, MemorySegment out, MemorySegment in) {
        IdleStrategy idleStrategy = new IdleStrategy(() -> {}, Clock.SYSTEM, true);
        long sent = 0;
        long received = 0;
        while (sent < out.byteSize() || received < in.byteSize()) {
            long moved = link.trySend(out, sent, out.byteSize() - sent);
            sent += moved;
            long count = link.tryReceive(in, received, in.byteSize() - received);
            received += count;
            if (moved + count > 0) {
                idleStrategy.reset();
            } else {
                idleStrategy.idle();
            }
        }
    }
}
