package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;

/// Another rank will not come to the operation of a locked plan that this rank waits in. Never
/// reaches the user: the operation is agreed on anew.
final class PlanAbandonedException extends HorovodException {
    private static final long serialVersionUID = 1L;

    PlanAbandonedException() {
        super("the plan is left before this operation");
    }
}
