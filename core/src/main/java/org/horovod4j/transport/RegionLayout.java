package org.horovod4j.transport;

/// The layout of a rank's shared region. Only the owning rank writes to its region, except for the
/// claim counter, the words of [SharedParker], and the rings that it shares with rank 0.
///
/// Notices and counters that different ranks poll are two cache lines apart, because processors
/// fetch lines in pairs.
public final class RegionLayout {
    /// The most bytes that the payload of a notice can have.
    public static final int NOTICE_BYTES = 16 * 1024;

    /// The capacity of a stage.
    public static final long STAGE_BYTES = 512 * 1024;

    /// The places for notices in a region, used in turn. [LocalGroup] says why two are enough.
    public static final int NOTICE_PLACES = 2;

    /// The number of stages in a region: one is packed, one reduced, one unpacked, one is spare.
    public static final int STAGES = 4;

    private static final long CACHE_LINE_PAIR = 128;

    // A notice: sequence number, stamp, payload.
    static final long STAMP = Long.BYTES;
    static final long PAYLOAD = 2 * Long.BYTES;
    private static final long NOTICE = CACHE_LINE_PAIR + NOTICE_BYTES;

    // A region: the places for notices, the counters, the claim counter, the stages.
    private static final long COUNTERS = NOTICE_PLACES * NOTICE;

    /// The claim counter: how many chunks of this rank's part were claimed, by this rank or others.
    static final long CLAIMED = COUNTERS + Counter.values().length * CACHE_LINE_PAIR;

    /// The words of [SharedParker]: whom the rank waits for while it parks, and how many ranks park.
    static final long PARKED = CLAIMED + CACHE_LINE_PAIR;

    static final long PARKED_COUNT = PARKED + CACHE_LINE_PAIR;

    /// The word of [ProcessorSpread]: the processor on which the rank last went to sleep.
    static final long PROCESSOR = PARKED_COUNT + CACHE_LINE_PAIR;

    /// The rings of control messages between this rank and rank 0 of the process set.
    static final long FROM_RANK_ZERO = PROCESSOR + CACHE_LINE_PAIR;

    static final long TO_RANK_ZERO = FROM_RANK_ZERO + ByteRing.BYTES;

    private static final long STAGES_START = TO_RANK_ZERO + ByteRing.BYTES;

    /// The size of a whole region.
    public static final long BYTES = STAGES_START + STAGES * STAGE_BYTES;

    private RegionLayout() {}

    /// A rank's progress through the stages. Counters never decrease, except in a reset.
    public enum Counter {
        /// Rounds whose data the rank has packed into its stage.
        PACKED,
        /// Rounds in which the rank has reduced the part it owns.
        REDUCED,
        /// Rounds from which the rank has read everything it needs, so that stages may be
        /// overwritten.
        UNPACKED
    }

    /// The place of a notice in a region.
    static int noticePlace(long sequence) {
        return (int) (sequence % NOTICE_PLACES);
    }

    static long noticeOffset(long sequence) {
        return noticePlace(sequence) * NOTICE;
    }

    static long counterOffset(Counter counter) {
        return COUNTERS + counter.ordinal() * CACHE_LINE_PAIR;
    }

    static long stageOffset(long round) {
        return STAGES_START + Math.floorMod(round, STAGES) * STAGE_BYTES;
    }
}
