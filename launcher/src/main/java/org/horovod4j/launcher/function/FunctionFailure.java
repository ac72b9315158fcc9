package org.horovod4j.launcher.function;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.PeerLostException;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Objects;
import java.util.stream.Stream;

/// What a function threw, as text: its class may exist only on that rank, and objects of any class
/// cannot be sent.
///
/// @param summary class and message
/// @param trace the stack trace with all causes, as Java prints it
/// @param isPeerLoss whether it reports only that another rank was lost
public record FunctionFailure(String summary, String trace, boolean isPeerLoss) {
    /// Enough for any stack trace, and small enough for any number of ranks.
    private static final int MAX_LENGTH = 100_000;

    private static final int MAX_CAUSES = 100;

    static FunctionFailure of(Throwable thrown) {
        StringWriter trace = new StringWriter();
        thrown.printStackTrace(new PrintWriter(trace, true));
        return new FunctionFailure(
                text(thrown.toString()),
                text(trace.toString().strip()),
                isCausedByPeerLoss(thrown));
    }

    /// Limited, because a chain of causes may contain a cycle.
    private static boolean isCausedByPeerLoss(Throwable thrown) {
        return Stream.<Throwable>iterate(thrown, Objects::nonNull, Throwable::getCause)
                .limit(MAX_CAUSES)
                .anyMatch(PeerLostException.class::isInstance);
    }

    /// Truncates, and replaces half surrogate pairs, which cannot be encoded.
    private static String text(String raw) {
        String brief = raw.length() <= MAX_LENGTH ? raw : raw.substring(0, MAX_LENGTH) + "…";
        return new String(brief.getBytes(UTF_8), UTF_8);
    }
}
