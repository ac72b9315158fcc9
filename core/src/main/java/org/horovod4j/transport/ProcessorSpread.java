package org.horovod4j.transport;

import org.horovod4j.natives.ProcessorSet;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.BitSet;

/// Moves the waiting thread of a rank to another processor if it shares one with another rank of the
/// host.
///
/// Two ranks that wait for each other in turn never need their processor at the same time, so the
/// scheduler leaves both on it, even if another processor is idle. Each operation then takes as long
/// as a wait spins. So each rank writes into its region on which processor it last went to sleep.
/// Before it sleeps, it checks whether another rank has written the same one. It stays free to run on
/// all its processors; a rank that is bound to one stays there.
///
/// A rank stays on its NUMA node if it can. It was the first to write its region, so Linux has placed
/// the region there.
///
/// What a rank has written may be old. Then another rank moves without need, which costs some
/// microseconds once.
final class ProcessorSpread {
    /// The shortest time between two moves. The scheduler may have a reason to undo one.
    private static final long PAUSE_NANOS = 1_000_000;

    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment[] words;
    private final int index;
    private final Clock clock;

    /// Read before the first move. Most ranks never move.
    private @Nullable NumaNodes numaNodes;

    private boolean moved;
    private long movedNanos;

    ProcessorSpread(MemorySegment[] regions, int index, Clock clock) {
        this.index = index;
        this.clock = clock;
        this.words = new MemorySegment[regions.length];
        for (int member = 0; member < regions.length; member++) {
            words[member] = regions[member].asSlice(RegionLayout.PROCESSOR, Integer.BYTES);
        }
    }

    /// Moves this thread if another rank was last seen on the same processor, and there is one on which
    /// no rank was seen.
    void leaveSharedProcessor() {
        int processor = ProcessorSet.current();
        publish(processor);
        if (processor < 0 || !isShared(processor) || !mayMove()) {
            return;
        }
        ProcessorSet allowed = ProcessorSet.ofCurrentThread().orElse(null);
        if (allowed == null) {
            return;
        }
        BitSet free = allowed.without(used());
        if (free.isEmpty()) {
            return;
        }
        int chosen = choose(nodes().sameNode(free, processor));
        if (ProcessorSet.of(chosen).bindCurrentThread().isEmpty()) {
            publish(chosen);
            // Fails only if the process has lost all of them, and then the system has chosen
            // others.
            String _ = allowed.bindCurrentThread();
        }
    }

    private void publish(int processor) {
        INT.setOpaque(words[index], 0L, processor + 1);
    }

    private boolean isShared(int processor) {
        for (int member = 0; member < words.length; member++) {
            if (member != index && lastProcessor(member) == processor) {
                return true;
            }
        }
        return false;
    }

    private boolean mayMove() {
        long now = clock.nanoTime();
        if (moved && now - movedNanos < PAUSE_NANOS) {
            return false;
        }
        moved = true;
        movedNanos = now;
        return true;
    }

    private BitSet used() {
        BitSet used = new BitSet();
        for (int member = 0; member < words.length; member++) {
            int processor = lastProcessor(member);
            if (processor >= 0) {
                used.set(processor);
            }
        }
        return used;
    }

    private NumaNodes nodes() {
        NumaNodes known = numaNodes;
        if (known == null) {
            known = NumaNodes.ofThisMachine();
            numaNodes = known;
        }
        return known;
    }

    /// Neighbouring ranks choose different ones, as several may move at once.
    private int choose(BitSet free) {
        return free.stream().skip(index % free.cardinality()).findFirst().orElseThrow();
    }

    private int lastProcessor(int member) {
        return (int) INT.getOpaque(words[member], 0L) - 1;
    }
}
