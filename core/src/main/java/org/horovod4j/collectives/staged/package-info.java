/// The backend `HOST`: collectives on tensors of a device that go through main memory.
///
/// Start with [StagedBackend]. It uses the driver of the device and the collectives of main memory, so
/// it works for every device and between all ranks. [HierarchicalBackend] uses main memory between hosts
/// only, and another backend inside each host.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.spi`.
@NullMarked
package org.horovod4j.collectives.staged;

import org.jspecify.annotations.NullMarked;
