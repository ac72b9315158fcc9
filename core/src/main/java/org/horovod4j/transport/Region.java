package org.horovod4j.transport;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static java.lang.foreign.MemoryLayout.PathElement.sequenceElement;
import static java.lang.foreign.MemoryLayout.paddingLayout;
import static java.lang.foreign.MemoryLayout.sequenceLayout;
import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;

/// How a rank's shared region is laid out. A region has one writer, its rank, and many readers;
/// only what is claimed of it is counted by all.
///
/// Notices and counters that different ranks poll lie two cache lines apart, because processors
/// fetch lines in pairs.
public final class Region {
    /// The largest payload of a notice.
    public static final int NOTICE_BYTES = 16 * 1024;

    /// Bytes that one stage can hold.
    public static final long STAGE_BYTES = 512 * 1024;

    /// How many stages a region has: one is being packed, one reduced, one unpacked, one spare.
    public static final int STAGES = 4;

    private static final long LINE_PAIR = 128;

    private static final StructLayout NOTICE =
            structLayout(
                    JAVA_LONG.withName("sequence"),
                    JAVA_LONG.withName("stamp"),
                    sequenceLayout(NOTICE_BYTES, JAVA_BYTE).withName("payload"),
                    paddingLayout(LINE_PAIR - 2 * Long.BYTES));

    private static final StructLayout COUNTER =
            structLayout(JAVA_LONG.withName("value"), paddingLayout(LINE_PAIR - Long.BYTES));

    private static final StructLayout LAYOUT =
            structLayout(
                    sequenceLayout(2, NOTICE).withName("notices"),
                    sequenceLayout(Counter.values().length, COUNTER).withName("counters"),
                    COUNTER.withName("claimed"),
                    sequenceLayout(STAGES, sequenceLayout(STAGE_BYTES, JAVA_BYTE))
                            .withName("stages"));

    /// The size of a whole region.
    public static final long BYTES = LAYOUT.byteSize();

    static final long STAMP = NOTICE.byteOffset(groupElement("stamp"));
    static final long PAYLOAD = NOTICE.byteOffset(groupElement("payload"));
    private static final long NOTICES = offset("notices");
    private static final long COUNTERS = offset("counters");
    private static final long STAGES_START = offset("stages");

    /// How many shares of this rank's work have been taken, by itself or by others.
    static final long CLAIMED = LAYOUT.byteOffset(groupElement("claimed"));

    private Region() {}

    /// How far a rank has come with the stages of an operation; each counts up for ever.
    public enum Counter {
        /// Its own part is in the stage.
        PACKED,
        /// The part it owns is reduced.
        REDUCED,
        /// It has read what it needs, so others may overwrite.
        UNPACKED
    }

    static long notice(long sequence) {
        return NOTICES + (sequence & 1) * NOTICE.byteSize();
    }

    static long counter(Counter counter) {
        return COUNTERS + counter.ordinal() * COUNTER.byteSize();
    }

    static long stage(long round) {
        return STAGES_START + Math.floorMod(round, STAGES) * STAGE_BYTES;
    }

    private static long offset(String field) {
        return LAYOUT.byteOffset(
                new MemoryLayout.PathElement[] {groupElement(field), sequenceElement(0)});
    }
}
