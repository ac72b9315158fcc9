package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// A message on its way in.
final class Incoming {
    private final MemorySegment window;
    private Link link = Unlinked.INSTANCE;
    private Sink sink = Sink.into(MemorySegment.NULL, 0, 0);
    private long stamp;

    /// Bytes of the payload that the sink has.
    private long taken;

    /// Bytes in the window, the stamp included while it is the first.
    private long filled;

    private boolean stamped;

    Incoming(MemorySegment window) {
        this.window = window;
    }

    void begin(Link link, long stamp, Sink sink) {
        this.link = link;
        this.stamp = stamp;
        this.sink = sink;
        this.taken = 0;
        this.filled = 0;
        this.stamped = false;
    }

    /// Takes what has come.
    ///
    /// @return whether anything moved
    boolean step() {
        MemorySegment direct = stamped && filled == 0 ? sink.direct() : null;
        return direct == null ? stepThroughWindow() : stepStraight(direct);
    }

    boolean isDone() {
        return stamped && taken == sink.length();
    }

    private boolean stepStraight(MemorySegment direct) {
        long count = link.tryReceive(direct, sink.directOffset() + taken, sink.length() - taken);
        taken += count;
        return count > 0;
    }

    private boolean stepThroughWindow() {
        long start = stamped ? 0 : Wire.STAMP_BYTES;
        long wanted = Math.min(window.byteSize(), start + sink.length() - taken);
        long count = filled == wanted ? 0 : link.tryReceive(window, filled, wanted - filled);
        filled += count;
        if (filled < start) {
            return count > 0;
        }
        if (!stamped && window.get(Wire.STAMP, 0) != stamp) {
            throw new StampMismatchException(link.peer());
        }
        return drain(start) || count > 0;
    }

    /// Gives the sink what it may have, and moves the rest to the window's start.
    private boolean drain(long start) {
        long available = Math.min(filled - start, sink.limit() - taken);
        boolean last = taken + available == sink.length();
        long count = last ? available : available - available % sink.granularity();
        if (count > 0) {
            sink.take(window, start, taken, count);
            taken += count;
        }
        if (count > 0 || !stamped) {
            long rest = filled - start - count;
            MemorySegment.copy(window, start + count, window, 0, rest);
            filled = rest;
        }
        stamped = true;
        return count > 0;
    }
}
