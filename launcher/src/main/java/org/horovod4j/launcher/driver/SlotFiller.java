package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;

import java.time.Duration;

/// Finds a new worker for each free slot, as far as the job may grow and hosts are trusted.
final class SlotFiller {
    private final ElasticLimits elasticLimits;
    private final HostPool hosts;
    private final Blacklist blacklist;
    private final WorkerTable workers;
    private final PendingActions actions;

    SlotFiller(
            ElasticLimits elasticLimits,
            HostPool hosts,
            Blacklist blacklist,
            WorkerTable workerTable,
            PendingActions pendingActions) {
        this.elasticLimits = elasticLimits;
        this.hosts = hosts;
        this.blacklist = blacklist;
        this.workers = workerTable;
        this.actions = pendingActions;
    }

    /// Fills free slots. Workers of hosts that are gone take nobody's place: they are to leave.
    void fill(Duration now) {
        long wanted =
                elasticLimits.maxWorkers()
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

    /// Fills the free slots of a host, or makes it ready for that.
    ///
    /// @return how many workers the host gets, now or when it is ready
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

    /// Lets go of hosts that are not listed any more, once the last worker there has ended.
    void release() {
        for (String host : hosts.openButUnlisted()) {
            if (workers.onHost(host).isEmpty()) {
                hosts.markClosed(host);
                actions.add(new DriverAction.ReleaseHost(host));
            }
        }
    }
}
