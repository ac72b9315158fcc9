package org.horovod4j.djl;

import org.horovod4j.optim.Timing;

/// How far communication hides behind backward passes.
///
/// @param isUsed whether gradients are launched while backward computes the next ones
/// @param reason why they are not; empty if they are
/// @param timing what was launched when, and how long steps waited
public record Overlap(boolean isUsed, String reason, Timing timing) {}
