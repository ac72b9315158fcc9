package org.horovod4j.runtime.message;

import java.util.Locale;

/// The collectives.
public enum CollectiveKind {
    ALLREDUCE,
    ALLGATHER,
    BROADCAST,
    ALLTOALL,
    REDUCESCATTER,
    BARRIER;

    private final String text = name().toLowerCase(Locale.ROOT);

    /// Whether the ranks may have different numbers of rows.
    public boolean isRagged() {
        return this == ALLGATHER || this == ALLTOALL;
    }

    /// Whether several tensors can be fused.
    public boolean isFusible() {
        return this == ALLREDUCE || this == REDUCESCATTER || this == ALLGATHER;
    }

    @Override
    public String toString() {
        return text;
    }
}
