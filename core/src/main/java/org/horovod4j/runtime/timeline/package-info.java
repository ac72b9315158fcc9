/// Records what the runtime does and when: as a trace for Perfetto, and as events of Java Flight
/// Recorder.
///
/// Start with [Recorder], which is what the runtime talks to, then follow an event of a [Timeline]:
/// from the thread that works through [EventQueue] to the thread of a [Recording], whose
/// [TraceWriter] gives it to the [TraceRow] of its tensor and so to the [TraceFile]. [TraceMerger] makes
/// one trace of many ranks' files.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`.
/// - Invariant: recording never waits for a disk or a lock; events that do not fit
///   into the queue are dropped and counted.
@NullMarked
package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.NullMarked;
