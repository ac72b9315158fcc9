package org.horovod4j.launcher.elastic;

import org.horovod4j.launcher.plan.Host;

import java.time.Duration;

/// Finds a new worker for each free slot, as far as the job may grow and hosts are trusted.
final class Recruiting {
    private final Limits limits;
    private final HostPool hosts;
    private final Blacklist blacklist;
    private final Roster roster;
    private final Decisions decisions;

    Recruiting(
            Limits limits,
            HostPool hosts,
            Blacklist blacklist,
            Roster roster,
            Decisions decisions) {
        this.limits = limits;
        this.hosts = hosts;
        this.blacklist = blacklist;
        this.roster = roster;
        this.decisions = decisions;
    }

    /// Fills free slots. Workers of hosts that are gone take nobody's place: they are to leave.
    void fill(Duration now) {
        long wanted =
                limits.most()
                        - roster.staying().stream()
                                .filter(member -> hosts.admits(member.worker()))
                                .count();
        for (Host host : hosts.listed()) {
            if (wanted <= 0) {
                return;
            }
            if (!blacklist.bars(host.name(), now)) {
                wanted -= fill(host, wanted, now);
            }
        }
    }

    /// Fills the free slots of a host, or makes it ready for that.
    ///
    /// @return how many workers the host gets, now or when it is ready
    private int fill(Host host, long wanted, Duration now) {
        if (blacklist.pardons(host.name())) {
            decisions.say("host %s is tried again".formatted(host.name()));
        }
        if (hosts.isClosed(host.name())) {
            hosts.opening(host.name());
            decisions.add(new Action.Open(host));
        }
        int count = 0;
        for (int slot = 0; slot < host.slots() && count < wanted; slot++) {
            if (!roster.occupies(host.name(), slot)) {
                count++;
                if (hosts.isOpen(host.name()) && !blacklist.rests(host.name(), slot, now)) {
                    decisions.add(new Action.Start(roster.enrol(host.name(), slot)));
                }
            }
        }
        return count;
    }

    /// Lets go of hosts that are not listed any more, once the last worker there has ended.
    void release() {
        for (String host : hosts.stale()) {
            if (roster.on(host).isEmpty()) {
                hosts.closed(host);
                decisions.add(new Action.Release(host));
            }
        }
    }
}
