package org.horovod4j.transport;

import org.horovod4j.HorovodException;

/// Another rank came with a different operation. Never reaches the user: the runtime asks all ranks
/// what they meant and reports that.
public final class StampMismatchException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public StampMismatchException(int rank) {
        super("rank " + rank + " is at another operation");
    }
}
