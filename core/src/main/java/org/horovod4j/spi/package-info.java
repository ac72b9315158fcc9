/// The interfaces between the runtime and its exchangeable parts.
///
/// Start with [Backend] (collectives over [FusedTensors]), then [ControlPlane] (how ranks meet) and
/// [RankInfo] (what each rank publishes when it joins). For tensors on a device start with
/// [DeviceBackend] (launches collectives) and [DeviceDriver] (memory, streams and events of a device);
/// [BackendProvider] and [DeviceProvider] find them. [CompositeCall] and [JoinCounter] are what a
/// communicator of the runtime offers to other packages of ours, beyond the interface for programs.
///
/// - May depend on: `org.horovod4j`.
@NullMarked
package org.horovod4j.spi;

import org.jspecify.annotations.NullMarked;
