package org.horovod4j.checkpoint;

import org.horovod4j.HorovodException;
import org.jspecify.annotations.Nullable;

/// Rank 0 could not write or read a checkpoint. All ranks throw it; rank 0's has the cause.
public final class CheckpointException extends HorovodException {
    private static final long serialVersionUID = 1;

    CheckpointException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
