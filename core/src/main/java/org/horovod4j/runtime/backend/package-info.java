/// Backends that are found at run time: the ranks choose one together, and a thread watches what it runs.
///
/// Start with [BackendChoice], the choice from what all ranks publish. [BackendMonitor] ends what was
/// launched when a rank is lost. [HostBackends] uses both for tensors in main memory, and
/// `org.horovod4j.runtime.device` for those of a device.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`,
///   `org.horovod4j.collectives.staged`, `org.horovod4j.log`, `org.horovod4j.option`,
///   `org.horovod4j.spi`, `org.horovod4j.text`, `org.horovod4j.runtime.controller`,
///   `org.horovod4j.runtime.message`, `org.horovod4j.runtime.timeline`.
/// - Invariant: no backend runs a collective before all ranks of the process set have reached the batch.
@NullMarked
package org.horovod4j.runtime.backend;

import org.jspecify.annotations.NullMarked;
