package org.horovod4j.transport;

import org.horovod4j.natives.Futex;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/// Parks the thread of a rank until another rank of the host unparks it, as
/// [java.util.concurrent.locks.LockSupport] does between threads.
///
/// Each region has a word that says whom its rank waits for while it parks, or is about to. A rank
/// sets it, then looks once more whether what it waits for has come, and only then parks. A rank
/// that writes something first writes it and then reads the words. So one of the two sees what the
/// other has written, and no wake-up is lost.
///
/// One thread of the rank parks at a time.
final class SharedParker {
    /// The rank does not park.
    private static final int AWAKE = 0;

    /// Any member may wake the rank. A larger value is the index of one member, plus 2.
    private static final int ANY_MEMBER = 1;

    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment[] words;
    private final MemorySegment parkedCount;
    private final int index;
    private final Futex futex = new Futex();
    private boolean prepared;
    private int awaited = ANY_MEMBER;
    private boolean spansProcessSet;

    SharedParker(MemorySegment[] regions, int index) {
        this.index = index;
        this.parkedCount = regions[0].asSlice(RegionLayout.PARKED_COUNT, Integer.BYTES);
        this.words = new MemorySegment[regions.length];
        for (int member = 0; member < regions.length; member++) {
            words[member] = regions[member].asSlice(RegionLayout.PARKED, Integer.BYTES);
        }
    }

    /// Until [#awaitAnyMember], only this member wakes this rank.
    void awaitMember(int member) {
        awaited = member + 2;
    }

    void awaitAnyMember() {
        awaited = ANY_MEMBER;
    }

    /// All ranks of the process set are on this host, so a member ends every wait.
    void setSpansProcessSet() {
        spansProcessSet = true;
    }

    /// Whether this system can park, and a member ends the current wait. If not, callers sleep.
    boolean canPark() {
        return (spansProcessSet || awaited != ANY_MEMBER) && Futex.isAvailable();
    }

    /// Announces that this rank will park. The caller then looks whether it still has to wait.
    void prepare() {
        prepared = true;
        int _ = (int) INT.getAndAdd(parkedCount, 0L, 1);
        announce();
    }

    private void announce() {
        INT.setVolatile(words[index], 0L, awaited);
        VarHandle.fullFence(); // before the caller reads what it waits for
    }

    /// Parks, at most for `nanos`. Then the caller looks again whether it still has to wait.
    void park(long nanos) {
        futex.await(words[index], awaited, nanos);
        announce();
    }

    /// Ends a wait that [#prepare] began.
    void cancel() {
        if (prepared) {
            prepared = false;
            INT.setVolatile(words[index], 0L, AWAKE);
            int _ = (int) INT.getAndAdd(parkedCount, 0L, -1);
        }
    }

    /// Wakes the members that wait for this rank, after it has written something for them.
    void unparkOthers() {
        VarHandle.fullFence(); // after the caller's writes
        if ((int) INT.getOpaque(parkedCount, 0L) != 0) {
            for (int member = 0; member < words.length; member++) {
                int waiting = (int) INT.getOpaque(words[member], 0L);
                boolean awaitsThisRank = waiting == ANY_MEMBER || waiting == index + 2;
                if (awaitsThisRank && member != index) {
                    wake(member, waiting);
                }
            }
        }
    }

    /// Wakes a member whatever it waits for, after this rank has written something for it.
    void unpark(int member) {
        VarHandle.fullFence(); // after the caller's writes
        int waiting = (int) INT.getOpaque(words[member], 0L);
        if (waiting != AWAKE) {
            wake(member, waiting);
        }
    }

    private void wake(int member, int waiting) {
        // Without the system call the member sleeps until its time is over.
        if (Futex.isAvailable() && INT.compareAndSet(words[member], 0L, waiting, AWAKE)) {
            Futex.wake(words[member]);
        }
    }
}
