package org.horovod4j.djl.training;

import org.horovod4j.HorovodException;
import org.jspecify.annotations.Nullable;

/// A checkpoint could not be written or restored; thrown on all ranks, and the message says why.
public final class CheckpointException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public CheckpointException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
