package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;

/// Another rank has left the plan, so the operation that this rank waits in cannot complete. The
/// user never sees it: the ranks negotiate the operation again.
final class PlanAbandonedException extends HorovodException {
    private static final long serialVersionUID = 1L;

    PlanAbandonedException() {
        super("the plan is left before this operation");
    }
}
