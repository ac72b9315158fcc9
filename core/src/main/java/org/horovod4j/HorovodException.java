package org.horovod4j;

import org.jspecify.annotations.Nullable;

/// The superclass of all exceptions of Horovod4J. Each subclass tells the caller what to do.
public class HorovodException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public HorovodException(String message) {
        super(message);
    }

    public HorovodException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
