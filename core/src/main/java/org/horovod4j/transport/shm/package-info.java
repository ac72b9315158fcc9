/// Shared memory between the processes of one host: each rank creates an in-memory file that the
/// others map.
///
/// Start with [SharedFile] (how a file without a name is found), then [MappedSharedMemory].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.spi`,
///   `org.horovod4j.transport`.
/// - Invariant: files have mode 0600. Where the system has `/proc`, they have no name after
///   [SharedFile#create] returns, so nothing is left behind when a process ends in any way.
@NullMarked
package org.horovod4j.transport.shm;

import org.jspecify.annotations.NullMarked;
