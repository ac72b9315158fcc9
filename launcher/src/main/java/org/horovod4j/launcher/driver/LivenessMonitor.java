package org.horovod4j.launcher.driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// Watches over workers of which nothing is heard, and finds those that would never end by
/// themselves.
///
/// A line that closes mostly means a process that ends, whose end is told a moment later and tells
/// more. So a worker is killed only when it has been silent for a while.
final class LivenessMonitor {
    /// How long a worker may be silent before it is killed.
    static final Duration GRACE_PERIOD = Duration.ofSeconds(2);

    private static final String OVERDUE = "it did not come back as the others did";

    /// @param killTime when it is killed, unless it speaks or ends before
    /// @param isKilled whether it was killed for it
    private record Unresponsive(String reason, Duration killTime, boolean isKilled) {}

    private final Map<Integer, Unresponsive> unresponsive = new HashMap<>();

    /// A worker answers no more.
    ///
    /// @param how continues a sentence that begins with the worker
    void markUnresponsive(int worker, String how, Duration now) {
        unresponsive.putIfAbsent(worker, new Unresponsive(how, now.plus(GRACE_PERIOD), false));
    }

    /// A worker was waited for in vain for so long already that its time is over.
    void markOverdue(int worker, Duration now) {
        unresponsive.putIfAbsent(worker, new Unresponsive(OVERDUE, now, false));
    }

    /// A worker has spoken.
    void markAlive(int worker) {
        unresponsive.remove(worker);
    }

    /// A worker is gone.
    ///
    /// @return why it was killed, if it was for its silence
    Optional<String> ended(int worker) {
        return Optional.ofNullable(unresponsive.remove(worker))
                .filter(Unresponsive::isKilled)
                .map(Unresponsive::reason);
    }

    /// The workers whose time is over: each is given once.
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
