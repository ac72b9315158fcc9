package org.horovod4j.launcher.function;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/// How the function ended on each rank, and in which order ranks failed. In an elastic job, workers
/// take the place of ranks.
///
/// Thread-safe: ranks report on different threads.
public final class RankOutcomes {
    private final Map<Integer, byte[]> values = new HashMap<>();
    private final Set<Integer> ended = new HashSet<>();
    private final List<RankFailure> failures = new ArrayList<>();

    /// What a rank reports when the function has ended.
    public sealed interface Outcome {
        int rank();
    }

    /// The function returned.
    ///
    /// @param value the encoded result, which the server does not decode
    @SuppressWarnings("ArrayRecordComponent") // never compared
    public record Returned(int rank, byte[] value) implements Outcome {}

    /// Why a rank has no result.
    public sealed interface RankFailure {
        int rank();
    }

    /// The function threw, or could not be called.
    public record Threw(int rank, FunctionFailure functionFailure)
            implements Outcome, RankFailure {}

    /// The process ended before the function did.
    ///
    /// @param how "exit code 3", "killed by signal 9 (SIGKILL)"
    public record Died(int rank, String how) implements RankFailure {}

    /// Records an outcome. The first of a rank counts.
    public synchronized void add(Outcome outcome) {
        if (ended.add(outcome.rank())) {
            switch (outcome) {
                case Returned(int rank, byte[] value) -> values.put(rank, value);
                case Threw threw -> failures.add(threw);
            }
        }
    }

    /// Records that the process of a rank has exited, with any exit code.
    public synchronized void exited(int rank, String how) {
        if (ended.add(rank)) {
            failures.add(new Died(rank, how));
        }
    }

    /// The first failure. Ranks that failed only because another was lost come last.
    public synchronized Optional<RankFailure> firstFailure() {
        return failures.stream()
                .filter(it -> !(it instanceof Threw threw && threw.functionFailure.isPeerLoss()))
                .findFirst()
                .or(() -> failures.stream().findFirst());
    }

    /// The last failure of a function.
    public synchronized Optional<FunctionFailure> lastThrown() {
        return failures.reversed().stream()
                .filter(Threw.class::isInstance)
                .map(it -> ((Threw) it).functionFailure)
                .findFirst();
    }

    /// All encoded results.
    public synchronized List<byte[]> values() {
        return List.copyOf(values.values());
    }

    /// The encoded result of a rank, if there is one.
    public synchronized Optional<byte[]> value(int rank) {
        return Optional.ofNullable(values.get(rank));
    }
}
