/// Jobs of real processes, for what needs the sockets, shared memory and signals of an operating
/// system.
///
/// Start with [TestJobPlan], which describes a job, and [TestJob], which runs it and cleans up. The
/// programs of the ranks are nested classes of the tests. A program reports a result with
/// [CallResult], and waits for the test with [TestSignal].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.compression`, `org.horovod4j.option`,
///   `org.horovod4j.rendezvous`, `org.horovod4j.runtime.timeline`, `org.horovod4j.testing`,
///   `org.horovod4j.security`.
/// - Invariant: a test leaves no process and no shared-memory file behind.
@NullMarked
package org.horovod4j.process;

import org.jspecify.annotations.NullMarked;
