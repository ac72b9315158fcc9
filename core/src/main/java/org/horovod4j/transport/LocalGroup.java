package org.horovod4j.transport;

import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.List;

/// The ranks that share memory with this one, and how they keep in step.
///
/// An operation begins with one *notice* per rank: stamp and a small payload, posted in turn into
/// two places. Nobody overwrites a notice that is still read: a rank posts number `t + 2` after it
/// has seen everybody's `t + 1`, which they post after they are done with `t`. Larger data go
/// through *stages*, a ring of buffers whose reuse the [Counter]s govern.
public final class LocalGroup {
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    private final SharedMemory memory;
    private final MemorySegment[] regions;
    private final int index;
    private final IdleStrategy idleStrategy;
    private final long[] counters = new long[Counter.values().length];
    private long sequence;

    public LocalGroup(SharedMemory memory, IdleStrategy idleStrategy) {
        this.memory = memory;
        this.idleStrategy = idleStrategy;
        this.index = memory.index();
        this.regions = new MemorySegment[memory.ranks().size()];
        for (int member = 0; member < regions.length; member++) {
            regions[member] = memory.region(member);
        }
    }

    /// How many ranks share.
    public int size() {
        return regions.length;
    }

    /// This rank among them.
    public int index() {
        return index;
    }

    /// The ranks that share, ascending.
    public List<Integer> ranks() {
        return memory.ranks();
    }

    public SharedMemory memory() {
        return memory;
    }

    /// The bytes of a member's region, at which [#payloadOffset] and [#stageOffset] give offsets.
    public MemorySegment region(int member) {
        return regions[member];
    }

    /// Where the payload of the next notice to be posted lies in this rank's region.
    public long nextPayloadOffset() {
        return RegionLayout.noticeOffset(sequence + 1) + RegionLayout.PAYLOAD;
    }

    /// Where the payloads of the current notices lie in each region.
    public long payloadOffset() {
        return RegionLayout.noticeOffset(sequence) + RegionLayout.PAYLOAD;
    }

    /// Posts this rank's next notice, whose payload the caller has already written at
    /// [#nextPayloadOffset], and waits for the others'.
    ///
    /// @throws StampMismatchException when another rank's stamp differs
    public void barrier(long stamp) {
        sequence++;
        MemorySegment mine = regions[index];
        long notice = RegionLayout.noticeOffset(sequence);
        mine.set(ValueLayout.JAVA_LONG, notice + RegionLayout.STAMP, stamp);
        LONG.setRelease(mine, notice, sequence);
        for (int member = 0; member < regions.length; member++) {
            if (member != index) {
                await(regions[member], notice, sequence);
                if (regions[member].get(ValueLayout.JAVA_LONG, notice + RegionLayout.STAMP)
                        != stamp) {
                    throw new StampMismatchException(memory.ranks().get(member));
                }
            }
        }
    }

    /// How far this rank has counted, which is where all members' next operation starts from.
    public long counterValue(Counter counter) {
        return counters[counter.ordinal()];
    }

    /// Counts one more, visible to the others together with all that was written before.
    public void increment(Counter counter) {
        advanceTo(counter, counters[counter.ordinal()] + 1);
    }

    /// Counts up to `value` at once.
    public void advanceTo(Counter counter, long value) {
        counters[counter.ordinal()] = value;
        LONG.setRelease(regions[index], RegionLayout.counterOffset(counter), value);
    }

    /// Waits until a member has counted to `value`.
    public void await(int member, Counter counter, long value) {
        if (member != index) {
            await(regions[member], RegionLayout.counterOffset(counter), value);
        }
    }

    /// Waits until every member has counted to `value`.
    public void awaitAll(Counter counter, long value) {
        for (int member = 0; member < regions.length; member++) {
            await(member, counter, value);
        }
    }

    /// Takes the next share of a member's work, counted from 0: every share goes to one rank alone.
    /// Whoever is done with its own helps others, so that all are done at once.
    public long claim(int member) {
        return (long) LONG.getAndAdd(regions[member], RegionLayout.CLAIMED, 1L);
    }

    /// Begins anew to hand out shares of this rank's work. No member may be left that still claims
    /// of the last; those of the next must have met this rank first.
    public void resetClaims() {
        LONG.setRelease(regions[index], RegionLayout.CLAIMED, 0L);
    }

    /// Where the stage of a round lies in each region; rounds count up for ever.
    public long stageOffset(long round) {
        return RegionLayout.stageOffset(round);
    }

    /// Starts afresh after a failed operation; all members do, while nobody is in an operation.
    public void reset() {
        sequence = 0;
        for (Counter counter : Counter.values()) {
            advanceTo(counter, 0);
        }
        resetClaims();
        LONG.setRelease(regions[index], RegionLayout.noticeOffset(0), 0L);
        LONG.setRelease(regions[index], RegionLayout.noticeOffset(1), 0L);
    }

    private void await(MemorySegment region, long offset, long value) {
        if ((long) LONG.getAcquire(region, offset) >= value) {
            return;
        }
        idleStrategy.reset();
        while ((long) LONG.getAcquire(region, offset) < value) {
            idleStrategy.idle();
        }
    }
}
