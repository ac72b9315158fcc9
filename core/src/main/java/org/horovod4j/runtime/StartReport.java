package org.horovod4j.runtime;

import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.spi.Tuning;

import java.util.ArrayList;
import java.util.List;

/// What a rank logs at level `debug` when it has joined: how it reaches each other rank, and with
/// which settings it runs.
record StartReport(List<String> lines) {
    StartReport {
        lines = List.copyOf(lines);
    }

    static StartReport of(RankContext context) {
        List<String> lines = new ArrayList<>();
        RankInfo self = context.members().get(context.rank());
        for (RankInfo peer : context.members()) {
            if (peer.rank() != self.rank()) {
                lines.add(
                        "Rank %d on %s (process %d): %s"
                                .formatted(
                                        peer.rank(), peer.host(), peer.pid(), route(self, peer)));
            }
        }
        lines.add(settings(context.settings()));
        return new StartReport(lines);
    }

    private static String route(RankInfo self, RankInfo peer) {
        return !self.domain().isEmpty() && self.domain().equals(peer.domain())
                ? "shared memory"
                : "TCP, to one of " + peer.addresses();
    }

    private static String settings(RuntimeSettings settings) {
        Tuning tuning = settings.tuning();
        return "Fusion up to %d bytes, cycle time %s ms, cache of %d requests, plans are %s, connections are %s"
                .formatted(
                        tuning.fusionThreshold(),
                        tuning.cycleTime().toNanos() / 1e6,
                        settings.cacheCapacity(),
                        settings.planLocking() ? "locked" : "not locked",
                        settings.tls() ? "encrypted" : "not encrypted");
    }
}
