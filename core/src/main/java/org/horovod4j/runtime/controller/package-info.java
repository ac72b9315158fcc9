/// Decides what runs next, and detects when the ranks no longer can.
///
/// Start with [Coordinator], which receives requests and decides. [SubmissionHistory] finds steps
/// that repeat, and a [LearnedPlan] is such a step. [WorldState] holds what this rank knows about
/// lost and departed ranks.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.transport`,
///   `org.horovod4j.runtime.message`, `org.horovod4j.runtime.cache`,
///   `org.horovod4j.runtime.fusion`.
/// - Invariant: an operation ends the same way on every rank: with its result, with one
///   [org.horovod4j.MismatchException], or with the loss of a rank.
@NullMarked
package org.horovod4j.runtime.controller;

import org.jspecify.annotations.NullMarked;
