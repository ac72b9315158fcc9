package org.horovod4j.process;

import org.horovod4j.PeerLostException;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// How a call of a rank ended. The rank prints it as one line, and the test reads it.
///
/// @param occasion identifies the call
/// @param type the simple name of the exception
/// @param lostRank the lost rank, if it is a [PeerLostException]
/// @param host the host of the lost rank, likewise
/// @param message the message of the exception
record CallResult(String occasion, String type, int lostRank, String host, String message) {
    /// The call did not fail.
    static final String WENT_WELL = "none";

    private static final int NO_RANK = -2;
    private static final Pattern LINE =
            Pattern.compile("result (\\S+) (\\S+) (-?\\d+) '([^']*)' (.*)");

    /// Makes a call and prints how it ended.
    static void report(String occasion, Runnable call) {
        CallResult callResult;
        try {
            call.run();
            callResult = new CallResult(occasion, WENT_WELL, NO_RANK, "", "");
        } catch (PeerLostException e) {
            callResult = report(occasion, e, e.lostRank(), e.host());
        } catch (RuntimeException e) {
            callResult = report(occasion, e, NO_RANK, "");
        }
        System.out.println(callResult.line());
    }

    private static CallResult report(
            String occasion, RuntimeException e, int lostRank, String host) {
        return new CallResult(
                occasion,
                e.getClass().getSimpleName(),
                lostRank,
                host,
                String.valueOf(e.getMessage()));
    }

    private String line() {
        return "result %s %s %d '%s' %s".formatted(occasion, type, lostRank, host, escape(message));
    }

    /// A message as one line, escaped like a Java string literal.
    private static String escape(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n");
    }

    static Optional<CallResult> parse(String line) {
        Matcher matcher = LINE.matcher(line);
        return matcher.matches()
                ? Optional.of(
                        new CallResult(
                                matcher.group(1),
                                matcher.group(2),
                                Integer.parseInt(matcher.group(3)),
                                matcher.group(4),
                                matcher.group(5).translateEscapes()))
                : Optional.empty();
    }
}
