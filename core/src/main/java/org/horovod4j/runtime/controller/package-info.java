/// Agrees with all ranks on what runs next, and knows when they no longer can.
///
/// Start with [Coordinator], which is told who asks for what and decides; [SubmissionHistory] finds the steps
/// that repeat, [LearnedPlan] is what becomes of them. [WorldState] is what this rank has heard of
/// the others.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.transport`,
///   `org.horovod4j.runtime.message`, `org.horovod4j.runtime.cache`,
///   `org.horovod4j.runtime.fusion`.
/// - Invariant: an operation ends the same way on every rank: well, with one
///   [org.horovod4j.MismatchException], or with the loss of a rank.
@NullMarked
package org.horovod4j.runtime.controller;

import org.jspecify.annotations.NullMarked;
