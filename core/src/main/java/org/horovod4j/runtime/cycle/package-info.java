/// Runs submitted operations: on the thread that waits for one, or on thread `hvd-cycle`.
///
/// Start with [CycleAgent], then [TensorQueue] (the submitted operations) and [Follower], which
/// runs what the ranks have agreed on; [PlanFollower] does while a plan is locked. [CycleThread]
/// drives while the program computes. [ControlLinks] carries the messages of the ranks.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.spi`,
///   `org.horovod4j.text`, `org.horovod4j.transport`, `org.horovod4j.runtime.message`, `org.horovod4j.runtime.queue`,
///   `org.horovod4j.runtime.cache`, `org.horovod4j.runtime.fusion`,
///   `org.horovod4j.runtime.dispatch`, `org.horovod4j.runtime.controller`,
///   `org.horovod4j.runtime.timeline`.
/// - Invariant: one thread at a time drives the cycle of a process set, and operations run one at a
///   time, in the order that all ranks have agreed on.
@NullMarked
package org.horovod4j.runtime.cycle;

import org.jspecify.annotations.NullMarked;
