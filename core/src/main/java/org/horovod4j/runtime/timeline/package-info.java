/// Records what the runtime does and when: as a trace for Perfetto, and as events of Java Flight
/// Recorder.
///
/// Start with [Recorder], which is what the runtime talks to, then follow an event of a [Timeline]:
/// from the thread that works through [EventQueue] to the thread of a [Recording], whose
/// [TraceWriter] gives it to the [TraceRow] of its tensor and so to the [TraceFile]. [TraceMerger] makes
/// one trace of many ranks' files.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`.
/// - Invariant: whoever records never waits, neither for a disk nor for a lock; what does not fit
///   in the queue is left out and counted.
@NullMarked
package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.NullMarked;
