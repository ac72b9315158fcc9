package org.horovod4j.launcher.function;

import org.horovod4j.PeerLostException;

import java.util.Objects;
import java.util.stream.Stream;

/// What a function threw.
///
/// @param isPeerLoss whether it reports only that another rank was lost
public record FunctionFailure(ThrownException thrown, boolean isPeerLoss) {
    private static final int MAX_CAUSES = 100;

    public static FunctionFailure of(Throwable thrown) {
        return new FunctionFailure(ThrownException.of(thrown), isCausedByPeerLoss(thrown));
    }

    /// Limited, because a chain of causes may contain a cycle.
    private static boolean isCausedByPeerLoss(Throwable thrown) {
        return Stream.<Throwable>iterate(thrown, Objects::nonNull, Throwable::getCause)
                .limit(MAX_CAUSES)
                .anyMatch(PeerLostException.class::isInstance);
    }
}
