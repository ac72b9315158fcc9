package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/// The superclass of all exceptions of Horovod4J. Each subclass tells the caller what to do.
public class HorovodException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public HorovodException(String message) {
        super(message);
    }

    public HorovodException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /// The same exception with the stack trace of the calling thread. A thread of Horovod4J may
    /// have created this one, and its frames do not show where the program waited.
    ///
    /// @return a copy with the same message and cause, or this exception if its class is not one of
    ///     this package
    public final HorovodException atCaller() {
        HorovodException copy = copy(String.valueOf(getMessage()));
        if (copy == null) {
            return this;
        }
        Arrays.stream(getSuppressed()).forEach(copy::addSuppressed);
        return copy;
    }

    private @Nullable HorovodException copy(String message) {
        return switch (this) {
            case PeerLostException lost ->
                    new PeerLostException(lost.lostRank(), lost.host(), message, getCause());
            case ConfigurationException _ -> new ConfigurationException(message, getCause());
            case ShutDownException _ -> new ShutDownException(message);
            case MismatchException _ -> new MismatchException(message);
            default ->
                    getClass() == HorovodException.class
                            ? new HorovodException(message, getCause())
                            : null;
        };
    }
}
