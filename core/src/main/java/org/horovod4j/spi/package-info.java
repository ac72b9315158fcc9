/// The interfaces between the runtime and its exchangeable parts.
///
/// Start with [CancellableBackend] (the collectives of core over [FusedTensors]), then [ControlPlane] (how
/// ranks meet) and [RankInfo] (what each rank publishes when it joins).
///
/// Other libraries run collectives as a [Backend]: a [HostBackend] on main memory, a [DeviceBackend] on the
/// memory of a device, whose [DeviceDriver] has memory, streams and events. `ServiceLoader` finds the
/// providers of all three. A backend starts with a [HostExchange]; `HOST` also gets [HostCollectives].
/// [DeviceWait] waits on the CPU for work on a device.
///
/// [CompositeCall] and [JoinCounter] are what a communicator of the runtime offers to other packages of
/// ours, beyond the interface for programs.
///
/// - May depend on: `org.horovod4j`.
@NullMarked
package org.horovod4j.spi;

import org.jspecify.annotations.NullMarked;
