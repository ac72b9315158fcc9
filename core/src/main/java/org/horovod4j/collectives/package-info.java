/// Collectives on host memory. This package selects the algorithm by the size of a collective and
/// the location of the ranks.
///
/// Start with [CpuBackend], then [CpuAllreduce]. Each collective has one file, which says what
/// happens within a host and what between hosts. [CrossGroup] represents the other hosts.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.natives`,
///   `org.horovod4j.option`, `org.horovod4j.spi`, `org.horovod4j.transport`, `org.horovod4j.collectives.algorithm`,
///   `org.horovod4j.collectives.kernel`.
/// - Invariant: kernels and links work on off-heap memory. Java arrays of the user are only copied.
@NullMarked
package org.horovod4j.collectives;

import org.jspecify.annotations.NullMarked;
