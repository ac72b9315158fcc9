package org.horovod4j;

/// The operation cannot run because a rank, perhaps this one, has called `shutdown`.
public final class ShutDownException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public ShutDownException(String message) {
        super(message);
    }
}
