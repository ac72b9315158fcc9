/// Access to the engines of DJL beyond DJL's API: the memory of an array, and a call when a gradient
/// is ready.
///
/// Start with [EngineAccess] (what the adapter needs) and [BackwardHooks] (the call), then a file per
/// engine: [PyTorchAccess], [MxNetAccess] and, for any other engine, [CopyingAccess].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.natives`, `org.horovod4j.option`,
///   `org.horovod4j.libtorch`, `ai.djl..`, `com.sun.jna..`.
@NullMarked
package org.horovod4j.djl.engine;

import org.jspecify.annotations.NullMarked;
