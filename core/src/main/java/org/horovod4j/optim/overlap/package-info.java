/// The choice whether gradients are reduced while a backward pass still computes others.
///
/// Start with [OverlapMode] (what the program asks for), then [OverlapHeuristic] (whether overlap
/// pays on this host) and [OverlapDecision] (the same choice on all ranks). [Overlap] is the result
/// that a program can read.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.optim`.
/// - Invariant: all ranks make the same choice before any gradient is launched during backward.
@NullMarked
package org.horovod4j.optim.overlap;

import org.jspecify.annotations.NullMarked;
