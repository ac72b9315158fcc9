package org.horovod4j.launcher.function;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/// How the function ended on each rank, and in which order it went wrong.
///
/// Safe for use by several threads: ranks hand in their outcomes on threads of their own.
public final class Ledger {
    private final Map<Integer, byte[]> values = new HashMap<>();
    private final Set<Integer> ended = new HashSet<>();
    private final List<Setback> setbacks = new ArrayList<>();

    /// Why a rank has no result.
    public sealed interface Setback {
        int rank();
    }

    /// The function threw, or could not be called.
    public record Threw(int rank, Failure failure) implements Setback {}

    /// The process ended before the function did.
    ///
    /// @param how "exit code 3", "killed by signal 9 (SIGKILL)"
    public record Died(int rank, String how) implements Setback {}

    /// Notes an outcome; the first of a rank counts.
    synchronized void enter(Request.Outcome outcome) {
        if (!ended.add(outcome.rank())) {
            return;
        }
        switch (outcome) {
            case Request.Returned(int rank, byte[] value) -> values.put(rank, value);
            case Request.Threw(int rank, Failure failure) -> setbacks.add(new Threw(rank, failure));
        }
    }

    /// Notes that the process of a rank has ended, well or badly.
    public synchronized void exited(int rank, String how) {
        if (ended.add(rank)) {
            setbacks.add(new Died(rank, how));
        }
    }

    /// What went wrong first; ranks that merely heard of the loss of another come last.
    public synchronized Optional<Setback> firstSetback() {
        return setbacks.stream()
                .filter(setback -> !(setback instanceof Threw it && it.failure.isConsequence()))
                .findFirst()
                .or(() -> setbacks.stream().findFirst());
    }

    /// The encoded result of a rank, if there is one.
    public synchronized Optional<byte[]> value(int rank) {
        return Optional.ofNullable(values.get(rank));
    }
}
