package org.horovod4j;

/// The operation came after a rank, perhaps this one, had called `shutdown`.
public final class ShutDownException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public ShutDownException(String message) {
        super(message);
    }
}
