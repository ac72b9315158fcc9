package org.horovod4j.transport;

import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.List;

/// The ranks that share memory with this rank, and how they synchronize.
///
/// A collective starts with one *notice* per rank: its stamp and a small payload. Each region has
/// two places for notices, used in turn. A notice is never overwritten while it is read. A rank
/// posts notice `t + 2` only after it has seen notice `t + 1` of all others, and each of them posts
/// `t + 1` only after it has read all notices `t`. Larger data go through *stages*, a ring of
/// buffers. The [Counter]s say when a stage may be reused.
public final class LocalGroup {
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    /// How often a wait polls before it idles. While it spins, to idle is to pause the processor. That takes
    /// as long as ten polls on some processors, so a rank that pauses after each poll often sees a notice
    /// late.
    private static final int POLLS_PER_IDLE = 16;

    private final SharedMemory memory;
    private final MemorySegment[] regions;
    private final int index;
    private final IdleStrategy idleStrategy;
    private final SharedParker parker;
    private final OutOfLineCall<MemorySegment> waitLoop = new OutOfLineCall<>(this::waitLoop);
    private final long[] counters = new long[Counter.values().length];
    private long sequence;

    // What waitLoop waits for.
    private int awaitedMember;
    private long awaitedOffset;
    private long awaitedValue;

    public LocalGroup(SharedMemory memory, IdleStrategy idleStrategy) {
        this.memory = memory;
        this.idleStrategy = idleStrategy;
        this.index = memory.index();
        this.regions = new MemorySegment[memory.ranks().size()];
        for (int member = 0; member < regions.length; member++) {
            regions[member] = memory.region(member);
        }
        this.parker = new SharedParker(regions, index);
        idleStrategy.setLocalGroup(
                parker, new ProcessorSpread(regions, index, idleStrategy.clock()));
    }

    /// The number of ranks in this group.
    public int size() {
        return regions.length;
    }

    /// The index of this rank in [#ranks].
    public int index() {
        return index;
    }

    /// The ranks of this group, ascending.
    public List<Integer> ranks() {
        return memory.ranks();
    }

    public SharedMemory memory() {
        return memory;
    }

    /// The time source of this rank.
    public Clock clock() {
        return idleStrategy.clock();
    }

    /// The member that this rank accesses at `step`, of the first `count` members. Each rank begins at its
    /// own index, modulo `count`. If all began at member 0, they would all access the memory of one member
    /// at a time, and wait for its core.
    public int memberAt(int step, int count) {
        return (index + step) % count;
    }

    /// The region of a member. [#payloadOffset] and [#stageOffset] are offsets in it.
    public MemorySegment region(int member) {
        return regions[member];
    }

    /// The place of the next notice in every region, below [RegionLayout#NOTICE_PLACES].
    public int nextNoticePlace() {
        return RegionLayout.noticePlace(sequence + 1);
    }

    /// The offset of the payload of the next notice, the same in every region.
    public long nextPayloadOffset() {
        return RegionLayout.noticeOffset(sequence + 1) + RegionLayout.PAYLOAD;
    }

    /// The offset of the payload of the current notice, the same in every region.
    public long payloadOffset() {
        return RegionLayout.noticeOffset(sequence) + RegionLayout.PAYLOAD;
    }

    /// Posts this rank's next notice and waits for those of the others. The caller has already
    /// written the payload at [#nextPayloadOffset].
    ///
    /// @throws StampMismatchException if the stamp of another rank differs
    public void barrier(long stamp) {
        sequence++;
        MemorySegment mine = regions[index];
        long notice = RegionLayout.noticeOffset(sequence);
        mine.set(ValueLayout.JAVA_LONG, notice + RegionLayout.STAMP, stamp);
        LONG.setRelease(mine, notice, sequence);
        parker.unparkOthers();
        for (int step = 1; step < regions.length; step++) {
            int member = memberAt(step, regions.length);
            await(member, notice, sequence);
            if (regions[member].get(ValueLayout.JAVA_LONG, notice + RegionLayout.STAMP) != stamp) {
                throw new StampMismatchException(memory.ranks().get(member));
            }
        }
    }

    /// The value of this rank's counter. Between collectives it is the same on all members.
    public long counterValue(Counter counter) {
        return counters[counter.ordinal()];
    }

    /// Increments the counter. Readers that see the new value also see all earlier writes.
    public void increment(Counter counter) {
        advanceTo(counter, counters[counter.ordinal()] + 1);
    }

    /// Sets the counter to `value`, with the same visibility as [#increment].
    public void advanceTo(Counter counter, long value) {
        counters[counter.ordinal()] = value;
        LONG.setRelease(regions[index], RegionLayout.counterOffset(counter), value);
        parker.unparkOthers();
    }

    /// Waits until the counter of `member` has reached `value`.
    public void await(int member, Counter counter, long value) {
        if (member != index) {
            await(member, RegionLayout.counterOffset(counter), value);
        }
    }

    /// Waits until the counter of every other member has reached `value`.
    public void awaitAll(Counter counter, long value) {
        for (int step = 1; step < regions.length; step++) {
            await(memberAt(step, regions.length), counter, value);
        }
    }

    /// Claims the next chunk of a member's part. Each chunk goes to exactly one rank. A rank that
    /// has finished its own part claims chunks of other parts.
    ///
    /// @return the number of the chunk, from 0; it may be beyond the last chunk
    public long claim(int member) {
        return (long) LONG.getAndAdd(regions[member], RegionLayout.CLAIMED, 1L);
    }

    /// Numbers the chunks of this rank's part from 0 again. The caller ensures that no member still
    /// claims chunks of the last collective, and that a [#barrier] precedes the claims of the next
    /// one.
    public void resetClaims() {
        LONG.setRelease(regions[index], RegionLayout.CLAIMED, 0L);
    }

    /// The offset of the stage of a round, the same in every region. Rounds are numbered across
    /// collectives.
    public long stageOffset(long round) {
        return RegionLayout.stageOffset(round);
    }

    /// Resets notices, counters and claims after a failed or cancelled collective. All members call
    /// this while none of them is in a collective.
    public void reset() {
        sequence = 0;
        for (Counter counter : Counter.values()) {
            advanceTo(counter, 0);
        }
        resetClaims();
        for (int place = 0; place < RegionLayout.NOTICE_PLACES; place++) {
            LONG.setRelease(regions[index], RegionLayout.noticeOffset(place), 0L);
        }
    }

    /// All ranks of the process set are on this host, so a member ends every wait.
    public void setSpansProcessSet() {
        parker.setSpansProcessSet();
    }

    /// The link of control messages between rank 0 and another rank of its host.
    ///
    /// @param member the other end: member 0, or on member 0 any other
    /// @param peer its rank in the world
    Link controlLink(int member, int peer) {
        MemorySegment region = regions[Math.max(index, member)];
        ByteRing fromZero =
                new ByteRing(region.asSlice(RegionLayout.FROM_RANK_ZERO, ByteRing.BYTES));
        ByteRing toZero = new ByteRing(region.asSlice(RegionLayout.TO_RANK_ZERO, ByteRing.BYTES));
        return index == 0
                ? new RingLink(peer, fromZero, toZero, () -> parker.unpark(member))
                : new RingLink(peer, toZero, fromZero, () -> parker.unpark(member));
    }

    private void await(int member, long offset, long value) {
        MemorySegment region = regions[member];
        if ((long) LONG.getAcquire(region, offset) >= value) {
            return;
        }
        awaitedMember = member;
        awaitedOffset = offset;
        awaitedValue = value;
        waitLoop.call(region);
    }

    private static boolean reaches(MemorySegment region, long offset, long value) {
        for (int poll = 0; poll < POLLS_PER_IDLE; poll++) {
            if ((long) LONG.getAcquire(region, offset) >= value) {
                return true;
            }
        }
        return false;
    }

    private void waitLoop(MemorySegment region) {
        long offset = awaitedOffset;
        long value = awaitedValue;
        idleStrategy.reset();
        parker.awaitMember(awaitedMember);
        try {
            while (!reaches(region, offset, value)) {
                idleStrategy.idle();
            }
        } finally {
            idleStrategy.reset();
            parker.awaitAnyMember();
        }
    }
}
