package org.horovod4j.elastic;

import org.horovod4j.HorovodException;

/// Hosts were added or will be removed, so the generation ends, at the same step on all ranks. This
/// is not a failure, and the state stays as it is.
///
/// [Elastic#run] catches it; programs must not.
public final class HostsUpdatedInterrupt extends HorovodException {
    private static final long serialVersionUID = 1L;

    HostsUpdatedInterrupt(int generation, long stamp) {
        super(
                "generation %d ends because hosts were added or will be removed (hosts version %d)"
                        .formatted(generation, stamp));
    }
}
