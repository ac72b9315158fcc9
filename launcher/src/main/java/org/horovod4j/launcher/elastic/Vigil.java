package org.horovod4j.launcher.elastic;

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
final class Vigil {
    /// How long a worker may be silent before it is killed.
    static final Duration LIMIT = Duration.ofSeconds(2);

    private static final String LATE = "it did not come back as the others did";

    /// @param until when it is killed, unless it speaks or ends before
    /// @param isKilled whether it was killed for it
    private record Silence(String how, Duration until, boolean isKilled) {}

    private final Map<Integer, Silence> silences = new HashMap<>();

    /// A worker answers no more.
    ///
    /// @param how continues a sentence that begins with the worker
    void silent(int worker, String how, Duration now) {
        silences.putIfAbsent(worker, new Silence(how, now.plus(LIMIT), false));
    }

    /// A worker was waited for in vain for so long already that its time is over.
    void late(int worker, Duration now) {
        silences.putIfAbsent(worker, new Silence(LATE, now, false));
    }

    /// A worker has spoken.
    void heard(int worker) {
        silences.remove(worker);
    }

    /// A worker is gone.
    ///
    /// @return why it was killed, if it was for its silence
    Optional<String> ended(int worker) {
        return Optional.ofNullable(silences.remove(worker))
                .filter(Silence::isKilled)
                .map(Silence::how);
    }

    /// The workers whose time is over: each is given once.
    List<Integer> due(Duration now) {
        List<Integer> due = new ArrayList<>();
        silences.replaceAll(
                (worker, silence) -> {
                    if (silence.isKilled || now.compareTo(silence.until) < 0) {
                        return silence;
                    }
                    due.add(worker);
                    return new Silence(silence.how, silence.until, true);
                });
        return due;
    }
}
