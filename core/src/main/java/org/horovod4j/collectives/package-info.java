/// The collectives on host memory: picks the algorithm for an operation's size and the ranks'
/// places.
///
/// Start with [CpuBackend], then [CpuAllreduce]; each collective has a file that tells what happens
/// inside a host and what between hosts. [CrossGroup] knows the other hosts.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.spi`,
///   `org.horovod4j.transport`, `org.horovod4j.collectives.algorithm`,
///   `org.horovod4j.collectives.kernel`.
/// - Invariant: kernels and links work on memory outside the heap; arrays of the user are only ever
///   copied.
@NullMarked
package org.horovod4j.collectives;

import org.jspecify.annotations.NullMarked;
