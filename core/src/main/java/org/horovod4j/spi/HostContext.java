package org.horovod4j.spi;

import java.util.List;

/// What a [HostBackend] works with: one process set on one rank.
///
/// @param host collectives of core among the same ranks
/// @param places all ranks of the set, by rank in the set
public record HostContext(HostCollectives host, List<DevicePlace> places) {
    public HostContext {
        places = List.copyOf(places);
    }
}
