package org.horovod4j.transport;

/// How a rank's shared region is laid out. A region has one writer, its rank, and many readers;
/// only what is claimed of it is counted by all.
///
/// Notices and counters that different ranks poll lie two cache lines apart, because processors
/// fetch lines in pairs.
public final class RegionLayout {
    /// The largest payload of a notice.
    public static final int NOTICE_BYTES = 16 * 1024;

    /// Bytes that one stage can hold.
    public static final long STAGE_BYTES = 512 * 1024;

    /// How many stages a region has: one is being packed, one reduced, one unpacked, one spare.
    public static final int STAGES = 4;

    private static final long CACHE_LINE_PAIR = 128;

    // A notice: its sequence number, its stamp, its payload.
    static final long STAMP = Long.BYTES;
    static final long PAYLOAD = 2 * Long.BYTES;
    private static final long NOTICE = CACHE_LINE_PAIR + NOTICE_BYTES;

    // A region: two notices, the counters, what is claimed, the stages.
    private static final long COUNTERS = 2 * NOTICE;

    /// How many shares of this rank's work have been taken, by itself or by others.
    static final long CLAIMED = COUNTERS + Counter.values().length * CACHE_LINE_PAIR;

    private static final long STAGES_START = CLAIMED + CACHE_LINE_PAIR;

    /// The size of a whole region.
    public static final long BYTES = STAGES_START + STAGES * STAGE_BYTES;

    private RegionLayout() {}

    /// How far a rank has come with the stages of an operation; each counts up for ever.
    public enum Counter {
        /// Its own part is in the stage.
        PACKED,
        /// The part it owns is reduced.
        REDUCED,
        /// It has read what it needs, so others may overwrite.
        UNPACKED
    }

    static long noticeOffset(long sequence) {
        return (sequence & 1) * NOTICE;
    }

    static long counterOffset(Counter counter) {
        return COUNTERS + counter.ordinal() * CACHE_LINE_PAIR;
    }

    static long stageOffset(long round) {
        return STAGES_START + Math.floorMod(round, STAGES) * STAGE_BYTES;
    }
}
