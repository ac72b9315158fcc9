/// What DJL's own API does not give of an engine: the memory of an array, and a call when a
/// gradient is ready.
///
/// Start with [EngineAccess] (what is asked of an engine) and [BackwardHooks] (the call), then a file per
/// engine: [PyTorchAccess], [MxNetAccess] and, for any other, [CopyingAccess]. The libraries are
/// called through [LibTorch] and [LibMxNet]; [TorchTensors], [Autograd], [HookObjects] and
/// [FunctionObjects] say what is called there, and how the objects of C++ lie in memory.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.option`, `ai.djl..`,
///   `com.sun.jna..`.
/// - Invariant: no exception leaves a function that a library calls, since that would end the JVM.
@NullMarked
package org.horovod4j.djl.engine;

import org.jspecify.annotations.NullMarked;
