package org.horovod4j.launcher.driver;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/// The hosts on which nothing is started for a while, because something failed there.
///
/// Only the second failure on a slot blacklists its host: most failures affect one process and do
/// not repeat. A failure is forgotten after the longest cooldown, so that two failures in a week do
/// not count as a broken host. Workers that run on a blacklisted host stay.
final class Blacklist {
    private static final Duration RETRY_DELAY = Duration.ofSeconds(1);

    private record HostSlot(String host, int number) {}

    private record Ban(int times, Duration until) {}

    private final Cooldown cooldown;
    private final Map<HostSlot, Duration> lastFailures = new HashMap<>();
    private final Map<String, Ban> bans = new HashMap<>();
    private final Set<String> awaitingReadmission = new HashSet<>();

    Blacklist(Cooldown cooldown) {
        this.cooldown = cooldown;
    }

    /// Records the failure of a worker.
    ///
    /// @return for how long its host is blacklisted; empty when the slot is to be tried again
    Optional<Duration> recordFailure(Worker worker, Duration now) {
        HostSlot hostSlot = new HostSlot(worker.host(), worker.slot());
        Duration before = lastFailures.put(hostSlot, now);
        return before == null || isExpired(before, now)
                ? Optional.empty()
                : Optional.of(ban(worker.host(), now));
    }

    /// Blacklists a host, and returns for how long.
    Duration ban(String host, Duration now) {
        lastFailures.keySet().removeIf(hostSlot -> hostSlot.host.equals(host));
        Ban before = bans.get(host);
        int times = before == null || isExpired(before.until, now) ? 0 : before.times;
        Duration length = cooldown.after(times);
        bans.put(host, new Ban(times + 1, now.plus(length)));
        awaitingReadmission.add(host);
        return length;
    }

    private boolean isExpired(Duration when, Duration now) {
        return now.minus(when).compareTo(cooldown.longest()) > 0;
    }

    /// Whether the last failure of a slot is too recent for another start: what its process held,
    /// such as a device, may not be free yet.
    boolean isInRetryDelay(String host, int slot, Duration now) {
        Duration last = lastFailures.get(new HostSlot(host, slot));
        return last != null && now.minus(last).compareTo(RETRY_DELAY) < 0;
    }

    boolean isBlacklisted(String host, Duration now) {
        Ban ban = bans.get(host);
        return ban != null && ban.until.compareTo(now) > 0;
    }

    /// To be called when something is started on a host.
    ///
    /// @return whether it is the first start since the host was blacklisted
    boolean readmit(String host) {
        return awaitingReadmission.remove(host);
    }
}
