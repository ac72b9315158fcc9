/// Records what the runtime does, and when: as a trace for Perfetto, and as events for Java Flight
/// Recorder.
///
/// Start with [Recorder], which the runtime calls, then follow an event of a [Timeline]: from the
/// working thread through [EventQueue] to the thread of a [Recording], whose [TraceWriter] passes
/// it to the [TraceRow] of its tensor and then to the [TraceFile]. [TraceMerger] concatenates the
/// files of several ranks.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`.
/// - Invariant: recording never waits for a disk or a lock; events that do not fit
///   into the queue are dropped and counted.
@NullMarked
package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.NullMarked;
