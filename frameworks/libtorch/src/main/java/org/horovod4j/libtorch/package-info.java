/// Calls into libtorch, the C++ library of PyTorch, through the foreign function API: the memory of
/// tensors, and hooks on gradients. It is independent of the Java binding that loaded the library.
///
/// Start with [TorchRuntime] (the library of this process), then [TorchTensors] (memory) and
/// [TorchHooks] (calls from backward); [TorchCuda] has what only GPUs need,
/// and [GraphCollectives] the gradients of collectives. [LibTorch] finds and calls functions; [HookObjects] and
/// [FunctionObjects] lay out C++ objects in memory.
///
/// A binding names a tensor by the address of its `at::Tensor`:
///
/// ```java
/// TorchRuntime torch = TorchRuntime.open("libtorch_cpu.so");
/// MemorySegment bytes = torch.tensors().memory(tensorAddress, byteSize);
/// ```
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.natives`,
///   `org.horovod4j.option`.
/// - Invariant: no exception leaves a function that libtorch calls, since that would end the JVM.
@NullMarked
package org.horovod4j.libtorch;

import org.jspecify.annotations.NullMarked;
