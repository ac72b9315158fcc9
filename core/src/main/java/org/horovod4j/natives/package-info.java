/// Functions of native libraries, and some of Linux's C library. Without the latter everything works,
/// but more slowly, or without binding threads: callers ask first whether a function is there.
///
/// Start with [NativeLibrary], which links and calls functions of any library, also for the adapters of
/// frameworks. Then [Futex] (sleep until another process wakes the thread) and [ProcessorSet] (the
/// processors of a thread) and [StreamingStores] (copies that bypass the caches).
///
/// - May depend on: the JDK alone.
@NullMarked
package org.horovod4j.natives;

import org.jspecify.annotations.NullMarked;
