/// Jobs of real processes: what only sockets, shared files and signals of an operating system show.
///
/// Start with [TestJobPlan], what to start, and [TestJob], which watches it and cleans up. The programs of
/// the ranks are nested classes of the tests; a program tells by [CallResult] what befell it, and waits
/// for a word of the test by [TestSignal].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.compression`, `org.horovod4j.option`,
///   `org.horovod4j.rendezvous`, `org.horovod4j.runtime.timeline`, `org.horovod4j.testing`,
///   `org.horovod4j.security`.
/// - Invariant: a test leaves behind no process and no shared file, however it ends.
@NullMarked
package org.horovod4j.process;

import org.jspecify.annotations.NullMarked;
