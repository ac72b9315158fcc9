package org.horovod4j.djl;

import org.horovod4j.optim.OverlapTiming;

/// How far communication hides behind backward passes.
///
/// @param isUsed whether gradients are launched while backward computes the next ones
/// @param reason why they are not; empty if they are
/// @param overlapTiming what was launched when, and how long steps waited
public record Overlap(boolean isUsed, String reason, OverlapTiming overlapTiming) {}
