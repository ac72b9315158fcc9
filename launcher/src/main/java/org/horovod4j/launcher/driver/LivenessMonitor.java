package org.horovod4j.launcher.driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// Finds unresponsive workers that must be killed.
///
/// When a connection closes, its process mostly exits a moment later, and its exit status says
/// more. So a worker is killed only after a grace period.
final class LivenessMonitor {
    /// How long an unresponsive worker may live.
    static final Duration GRACE_PERIOD = Duration.ofSeconds(2);

    private static final String OVERDUE = "it did not come back as the others did";

    /// @param killTime when it is killed, unless it answers or exits before
    private record Unresponsive(String reason, Duration killTime, boolean isKilled) {}

    private final Map<Integer, Unresponsive> unresponsive = new HashMap<>();

    /// A worker does not answer.
    ///
    /// @param how continues a sentence that begins with the worker
    void markUnresponsive(int worker, String how, Duration now) {
        unresponsive.putIfAbsent(worker, new Unresponsive(how, now.plus(GRACE_PERIOD), false));
    }

    /// A worker is overdue and may be killed at once.
    void markOverdue(int worker, Duration now) {
        unresponsive.putIfAbsent(worker, new Unresponsive(OVERDUE, now, false));
    }

    /// A worker has answered.
    void markAlive(int worker) {
        unresponsive.remove(worker);
    }

    /// A worker has exited.
    ///
    /// @return why it was killed, if it was killed for being unresponsive
    Optional<String> ended(int worker) {
        return Optional.ofNullable(unresponsive.remove(worker))
                .filter(Unresponsive::isKilled)
                .map(Unresponsive::reason);
    }

    /// The workers to kill now. Each is returned once.
    List<Integer> expired(Duration now) {
        List<Integer> due = new ArrayList<>();
        unresponsive.replaceAll(
                (worker, unresponsive) -> {
                    if (unresponsive.isKilled || now.compareTo(unresponsive.killTime) < 0) {
                        return unresponsive;
                    }
                    due.add(worker);
                    return new Unresponsive(unresponsive.reason, unresponsive.killTime, true);
                });
        return due;
    }
}
