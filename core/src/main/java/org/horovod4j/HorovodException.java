package org.horovod4j;

import org.jspecify.annotations.Nullable;

/// The root of what Horovod4J throws of its own; each subclass tells the caller whether to act.
public class HorovodException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public HorovodException(String message) {
        super(message);
    }

    public HorovodException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
