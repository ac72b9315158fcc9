package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;

import java.time.Duration;

/// Starts a worker for each free slot, up to the maximum, except on blacklisted hosts.
final class SlotFiller {
    private final JobState jobState;
    private final Blacklist blacklist;
    private final HostPool hosts;
    private final WorkerTable workers;
    private final PendingActions actions;

    SlotFiller(JobState jobState, Blacklist blacklist) {
        this.jobState = jobState;
        this.blacklist = blacklist;
        this.hosts = jobState.hosts;
        this.workers = jobState.workers;
        this.actions = jobState.actions;
    }

    /// Fills free slots. Workers on hosts that are gone do not count: they will leave.
    void fill(Duration now) {
        long wanted =
                jobState.limits.maxWorkers()
                        - workers.staying().stream()
                                .filter(workerState -> hosts.hasSlotFor(workerState.worker()))
                                .count();
        for (Host host : hosts.listed()) {
            if (wanted <= 0) {
                return;
            }
            if (!blacklist.isBlacklisted(host.name(), now)) {
                wanted -= fill(host, wanted, now);
            }
        }
    }

    /// Fills the free slots of a host, or opens it first.
    ///
    /// @return how many workers the host gets, now or when it is open
    private int fill(Host host, long wanted, Duration now) {
        if (blacklist.readmit(host.name())) {
            actions.info("host %s is tried again".formatted(host.name()));
        }
        if (hosts.isClosed(host.name())) {
            hosts.markOpening(host.name());
            actions.add(new DriverAction.OpenHost(host));
        }
        int count = 0;
        for (int slot = 0; slot < host.slots() && count < wanted; slot++) {
            if (!workers.isOccupied(host.name(), slot)) {
                count++;
                if (hosts.isOpen(host.name())
                        && !blacklist.isInRetryDelay(host.name(), slot, now)) {
                    actions.add(new DriverAction.StartWorker(workers.add(host.name(), slot)));
                }
            }
        }
        return count;
    }

    /// Releases hosts that are no longer listed and have no workers left.
    void release() {
        for (String host : hosts.openButUnlisted()) {
            if (workers.onHost(host).isEmpty()) {
                hosts.markClosed(host);
                actions.add(new DriverAction.ReleaseHost(host));
            }
        }
    }
}
