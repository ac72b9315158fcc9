package org.horovod4j.transport;

import org.horovod4j.HorovodException;

/// Another rank is in a different collective. Users never see this exception: the runtime asks all
/// ranks for their operations and reports the mismatch.
public final class StampMismatchException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public StampMismatchException(int rank) {
        super("rank " + rank + " is in a different collective");
    }
}
