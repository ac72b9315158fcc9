package org.horovod4j.optim.overlap;

import org.horovod4j.optim.OverlapTiming;

/// Whether communication overlaps with backward passes, and how well.
///
/// @param isUsed whether gradients are reduced while backward computes others
/// @param reason why they are not; empty if they are
/// @param overlapTiming counts and times
public record Overlap(boolean isUsed, String reason, OverlapTiming overlapTiming) {}
