package org.horovod4j.elastic;

import org.horovod4j.HorovodException;

/// Hosts have come or will go, so that the generation ends here, at the same step on all ranks.
/// Nothing is wrong and nothing lost: the state stays as it is.
///
/// For [Elastic#run] alone: a program lets it pass.
public final class HostsUpdatedInterrupt extends HorovodException {
    private static final long serialVersionUID = 1L;

    HostsUpdatedInterrupt(int generation, long stamp) {
        super(
                "generation %d ends, for hosts have come or will go (change %d)"
                        .formatted(generation, stamp));
    }
}
