/// NVIDIA GPUs through the CUDA driver: memory, streams, events, memory shared between processes, and
/// the kernels of Horovod4J.
///
/// Start with [CudaDeviceProvider] (which devices there are) and [CudaDeviceDriver] (a device, as core
/// uses it), then [CudaIpcProvider] and [CudaIpcBackend] (collectives of ranks that share a GPU, in the
/// [SharedStages] of an [IpcMemory]). Below are [Cuda] (the driver of this process), [CudaDevice], [CudaKernels] and [CopyBatch];
/// [LibCuda] links and calls the driver's functions behind [CudaApi]. The sources of the kernels are in
/// `src/main/cuda`.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.collectives.algorithm`, `org.horovod4j.log`,
///   `org.horovod4j.natives`, `org.horovod4j.spi`.
/// - Invariant: every result of the driver passes one check, which throws [CudaException].
@NullMarked
package org.horovod4j.cuda;

import org.jspecify.annotations.NullMarked;
