package org.horovod4j.runtime;

import org.horovod4j.log.Log;
import org.horovod4j.runtime.stall.RankReport;
import org.horovod4j.runtime.stall.StateReport;
import org.horovod4j.runtime.timeline.ClockOffset;
import org.horovod4j.runtime.timeline.ClockOffset.Sample;
import org.horovod4j.spi.ControlPlane;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// The difference between this rank's clock and that of rank 0: zero on the same host, else
/// measured.
final class RankZeroClock {
    private static final Logger LOG = Log.of(RankZeroClock.class);

    /// The fastest of this many answers is close to the minimum of the network.
    private static final int SAMPLES = 16;

    private static final long MAX_NANOS = Duration.ofSeconds(1).toNanos();

    private final ControlPlane control;
    private final boolean shared;

    RankZeroClock(RankContext context) {
        this.control = context.control();
        this.shared = context.topology().hosts().getFirst().contains(context.rank());
    }

    /// The nanoseconds to add to this rank's [System#nanoTime] to get that of rank 0. On another
    /// host this takes a few round trips.
    long offsetNanos() {
        if (shared) {
            return 0;
        }
        List<Sample> samples = new ArrayList<>();
        long begin = System.nanoTime();
        while (samples.size() < SAMPLES && System.nanoTime() - begin < MAX_NANOS) {
            takeSample(samples);
        }
        if (samples.isEmpty()) {
            LOG.log(
                    Level.WARNING,
                    "rank 0 does not answer, so the times in this rank's trace are not aligned with those of rank 0");
            return 0;
        }
        return ClockOffset.of(samples).nanos();
    }

    private void takeSample(List<Sample> samples) {
        long sent = System.nanoTime();
        RankReport answer = StateReport.collect(control).reports().getFirst();
        long received = System.nanoTime();
        if (answer != null) {
            samples.add(new Sample(sent, answer.nanoTime(), received));
        }
    }
}
