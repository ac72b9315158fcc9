/// Functions of native libraries, and two of Linux's C library. Everything works without the latter,
/// with less comfort: callers ask first whether a function is there.
///
/// Start with [NativeLibrary], which links and calls functions of any library, also for the adapters of
/// frameworks. Then [Futex] (sleep until another process wakes the thread) and [ProcessorSet] (the
/// processors of a thread).
///
/// - May depend on: the JDK alone.
@NullMarked
package org.horovod4j.natives;

import org.jspecify.annotations.NullMarked;
