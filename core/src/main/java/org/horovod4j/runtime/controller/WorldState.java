package org.horovod4j.runtime.controller;

import org.horovod4j.ConfigurationException;
import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Liveness;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/// What this rank knows about the other ranks of the job: which have left or are lost.
///
/// Every wait calls [ProcessSetState#check] or, at the start, [#check], and so ends within
/// milliseconds when a rank is lost.
public final class WorldState implements Liveness, ControlPlane.Listener {
    /// How long to wait for the cause of a failure. Heartbeats may need longer, but most losses are
    /// known within milliseconds.
    private static final Duration LOSS_REPORT_TIMEOUT = Duration.ofSeconds(3);

    private final CountDownLatch lossKnown = new CountDownLatch(1);
    private final Map<Integer, ProcessSetState> sets = new ConcurrentHashMap<>();

    /// The ranks that have left with a shutdown, earliest first, and the first rank that failed.
    private final List<RankDeparture> departures = new CopyOnWriteArrayList<>();

    private volatile @Nullable RankDeparture failure;
    private volatile @Nullable RankDeparture blockedBy;
    private volatile @Nullable HorovodException stopped;
    private volatile Supplier<byte[]> reportSupplier = () -> new byte[0];

    /// Registers a process set, so that its progress is reported.
    void register(int processSet, ProcessSetState state) {
        sets.put(processSet, state);
    }

    public void unregister(int processSet, ProcessSetState state) {
        sets.remove(processSet, state);
    }

    /// Sets the supplier of this rank's part of a state report.
    public void setReportSupplier(Supplier<byte[]> supplier) {
        reportSupplier = supplier;
    }

    @Override
    public byte[] describe() {
        return reportSupplier.get();
    }

    /// The number of completed batches of each process set.
    public Map<Integer, Long> completed() {
        return sets.entrySet().stream()
                .collect(
                        Collectors.toUnmodifiableMap(
                                Map.Entry::getKey, entry -> entry.getValue().completed()));
    }

    /// Ends all waits with `reason`: this rank leaves.
    public void stop(HorovodException reason) {
        stopped = reason;
    }

    /// The message of the failure that ended the job on this rank; empty without one.
    public String failure() {
        RankDeparture gone = failure;
        return gone == null ? "" : String.valueOf(describe(gone).getMessage());
    }

    /// For waits at the start: any loss ends them.
    @Override
    public void check() {
        RankDeparture gone = failure;
        if (gone == null && !departures.isEmpty()) {
            gone = departures.getFirst();
        }
        if (gone != null) {
            throw describe(gone);
        }
    }

    /// Throws if batch `number` of a process set cannot run: this rank leaves, the set is removed, or a
    /// lost or departed rank blocks it.
    ///
    /// @param closed the reason if the process set is removed
    /// @param ranks of the process set
    void check(
            @Nullable HorovodException closed, int processSet, List<Integer> ranks, long number) {
        HorovodException reason = stopped;
        if (reason != null) {
            throw reason;
        }
        if (closed != null) {
            throw closed;
        }
        checkRanks(processSet, ranks, number);
    }

    /// Throws if a lost or departed rank blocks batch `number` of a process set.
    ///
    /// @param ranks of the process set
    void checkRanks(int processSet, List<Integer> ranks, long number) {
        RankDeparture missed = blockingLoss(processSet, ranks, number);
        if (missed != null) {
            throw blocked(missed);
        }
    }

    /// The first failure of a rank, or null.
    @Nullable HorovodException loss() {
        RankDeparture gone = failure;
        return gone == null ? null : blocked(gone);
    }

    /// The departure that ended operations of this rank.
    public Optional<RankDeparture> blockedBy() {
        return Optional.ofNullable(blockedBy);
    }

    private HorovodException blocked(RankDeparture missed) {
        if (blockedBy == null) {
            blockedBy = missed;
        }
        return describe(missed);
    }

    /// The rank whose absence blocks a batch, or null. After an orderly departure other ranks may
    /// fail as a consequence, so the departure is reported first. Batches that the departed rank
    /// had completed may still be running here. A failure ends these too, and batch 0, the start.
    private @Nullable RankDeparture blockingLoss(int processSet, List<Integer> ranks, long number) {
        for (RankDeparture left : departures) {
            if (ranks.contains(left.rank()) && number > left.completed(processSet)) {
                return left;
            }
        }
        RankDeparture failed = failure;
        boolean ends = failed != null && (number == 0 || number > failed.completed(processSet));
        return ends ? failed : null;
    }

    @Override
    public synchronized void rankDeparted(RankDeparture departure) {
        if (departure.orderly()) {
            departures.add(departure);
        } else if (failure == null) {
            failure = departure;
        }
        lossKnown.countDown();
    }

    /// The cause of a failure seen here: the loss behind it, if it becomes known soon.
    ///
    /// @param ranks whose departure may have caused it
    public HorovodException explain(HorovodException seen, List<Integer> ranks) {
        return explain(seen, ranks, LOSS_REPORT_TIMEOUT);
    }

    /// @param timeout how soon the loss must be known
    HorovodException explain(HorovodException seen, List<Integer> ranks, Duration timeout) {
        awaitLossReport(timeout);
        RankDeparture known = causeOf(seen, ranks);
        if (known != null && !hasSameReason(known, seen)) {
            return blocked(known);
        }
        return seen instanceof LinkBrokenException broken
                ? new PeerLostException(
                        broken.peer(),
                        "an unknown host",
                        "rank %d is lost: %s".formatted(broken.peer(), broken.getMessage()),
                        broken)
                : seen;
    }

    /// Whether a rank has left because of the same mistake, which all ranks have found: an option, for
    /// example. Which of them leaves first is chance.
    private static boolean hasSameReason(RankDeparture departure, HorovodException seen) {
        return seen instanceof ConfigurationException
                && departure.reason().contains(String.valueOf(seen.getMessage()));
    }

    /// An interrupt does not end the wait: the cause would be missing from the report.
    private void awaitLossReport(Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        boolean interrupted = false;
        boolean waiting = true;
        while (waiting) {
            try {
                boolean _ = lossKnown.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                waiting = false;
            } catch (InterruptedException _) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /// The first failure; or the first departure if the broken link is to a rank that has left
    /// with a shutdown: other ranks may have failed because of it.
    private @Nullable RankDeparture causeOf(HorovodException seen, List<Integer> ranks) {
        boolean hasLeft = false;
        RankDeparture first = null;
        for (RankDeparture left : departures) {
            if (ranks.contains(left.rank())) {
                first = first == null ? left : first;
                hasLeft |=
                        seen instanceof LinkBrokenException broken && broken.peer() == left.rank();
            }
        }
        RankDeparture failed = failure;
        return failed == null || hasLeft ? first : failed;
    }

    private static HorovodException describe(RankDeparture rankDeparture) {
        if (rankDeparture.rank() < 0) {
            return new PeerLostException(
                    rankDeparture.rank(), rankDeparture.host(), rankDeparture.reason(), null);
        }
        String who = "rank %d on %s".formatted(rankDeparture.rank(), rankDeparture.host());
        return rankDeparture.orderly()
                ? new ShutDownException(
                        """
                        %s %s, so no further collective can run
                        Let every rank call the same collectives before shutdown."""
                                .formatted(who, rankDeparture.reason()))
                : new PeerLostException(
                        rankDeparture.rank(),
                        rankDeparture.host(),
                        """
                        %s is lost: %s
                        Its own output shows the cause. This rank is intact, but cannot continue without it."""
                                .formatted(who, rankDeparture.reason()),
                        null);
    }
}
