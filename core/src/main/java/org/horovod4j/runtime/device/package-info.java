/// Operations on tensors of a device: finds drivers and backends, and launches batches.
///
/// Start with [DeviceCollectives], which runs a batch: the ranks meet on the host, and choose a backend
/// at the first batch. [DeviceLauncher] lets the stream wait for the inputs, and passes the tensors to
/// the backend. [RankDevices] opens the drivers that [DeviceLibraries] has found.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.collectives.staged`,
///   `org.horovod4j.log`, `org.horovod4j.option`, `org.horovod4j.spi`, `org.horovod4j.text`, `org.horovod4j.runtime.backend`,
///   `org.horovod4j.runtime.controller`, `org.horovod4j.runtime.dispatch`, `org.horovod4j.runtime.fusion`,
///   `org.horovod4j.runtime.message`, `org.horovod4j.runtime.queue`, `org.horovod4j.runtime.timeline`.
/// - Invariant: nothing is launched on a device before all ranks of the process set have reached the
///   batch.
@NullMarked
package org.horovod4j.runtime.device;

import org.jspecify.annotations.NullMarked;
