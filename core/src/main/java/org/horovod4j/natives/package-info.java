/// Functions of Linux's C library. Everything works without them, with less comfort: callers ask first
/// whether a function is there.
///
/// Start with [CLibrary], which finds a function, then [Futex] (sleep until another process wakes the
/// thread) and [ProcessorSet] (the processors of a thread).
///
/// - May depend on: the JDK alone.
@NullMarked
package org.horovod4j.natives;

import org.jspecify.annotations.NullMarked;
