/// Collectives of GPUs through NCCL, NVIDIA's library.
///
/// Start with [NcclProvider] (whether NCCL can be used) and [NcclBackend] (the collectives). A
/// [NcclCommunicator] is a communicator of NCCL, which another thread can abort; [LibNccl] links and calls
/// the functions.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.natives`, `org.horovod4j.option`,
///   `org.horovod4j.spi`.
/// - Invariant: every result of NCCL passes one check, which throws an exception with NCCL's words.
@NullMarked
package org.horovod4j.nccl;

import org.jspecify.annotations.NullMarked;
