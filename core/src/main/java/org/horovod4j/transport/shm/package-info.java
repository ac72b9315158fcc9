/// Ranks of one host: each makes a file in memory that the others map.
///
/// Start with [SharedFile], which says how a file without a name is found, then [MappedSharedMemory].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.spi`,
///   `org.horovod4j.transport`.
/// - Invariant: files are 0600 and have no name once [SharedFile#create] returns (where the system
///   has `/proc`), so that nothing is left behind however a process ends.
@NullMarked
package org.horovod4j.transport.shm;

import org.jspecify.annotations.NullMarked;
