package org.horovod4j.runtime.controller;

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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/// What this rank has heard of its world: who is gone.
///
/// Everyone who waits asks, by way of a [ProcessSetState] or, at the start, by [#check], and so learns
/// within moments why waiting is in vain.
public final class WorldState implements Liveness, ControlPlane.Listener {
    /// How long to wait for the story behind a failure. Heartbeats may need longer, but most losses
    /// are known within milliseconds.
    private static final Duration LOSS_REPORT_TIMEOUT = Duration.ofSeconds(3);

    private final CountDownLatch lossKnown = new CountDownLatch(1);
    private final Map<Integer, ProcessSetState> sets = new ConcurrentHashMap<>();

    /// Who has left in order, first things first, and the first to fail.
    private final List<RankDeparture> departures = new CopyOnWriteArrayList<>();

    private volatile @Nullable RankDeparture failure;
    private volatile @Nullable HorovodException stopped;
    private volatile Supplier<byte[]> reportSupplier = () -> new byte[0];

    /// Lets `state` be asked how far it has come.
    void register(int processSet, ProcessSetState state) {
        sets.put(processSet, state);
    }

    public void unregister(int processSet, ProcessSetState state) {
        sets.remove(processSet, state);
    }

    /// Says what the rank is doing, whenever another asks.
    public void setReportSupplier(Supplier<byte[]> words) {
        reportSupplier = words;
    }

    @Override
    public byte[] describe() {
        return reportSupplier.get();
    }

    /// How many operations of each process set are over.
    public Map<Integer, Long> completed() {
        return sets.entrySet().stream()
                .collect(
                        Collectors.toUnmodifiableMap(
                                Map.Entry::getKey, entry -> entry.getValue().completed()));
    }

    /// Makes whatever waits give up, for this `reason`: this rank leaves.
    public void stop(HorovodException reason) {
        stopped = reason;
    }

    /// The story of the failure that ended this world; empty when there is none.
    public String failure() {
        RankDeparture gone = failure;
        return gone == null ? "" : String.valueOf(describe(gone).getMessage());
    }

    /// At the start, when any loss is the end.
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

    /// Throws what keeps `operation` of a process set from being completed.
    ///
    /// @param closed why the process set is gone, if it is
    /// @param ranks of the process set
    void check(
            @Nullable HorovodException closed,
            int processSet,
            List<Integer> ranks,
            long operation) {
        HorovodException reason = stopped;
        if (reason != null) {
            throw reason;
        }
        if (closed != null) {
            throw closed;
        }
        RankDeparture missed = blockingLoss(processSet, ranks, operation);
        if (missed != null) {
            throw describe(missed);
        }
    }

    /// Who is missed by an operation. After a departure others may well fail for want of the one
    /// that left, so it is named first; but operations that it had completed may still be running
    /// here, and a failure ends these too, as it ends operation 0, the start.
    private @Nullable RankDeparture blockingLoss(
            int processSet, List<Integer> ranks, long operation) {
        for (RankDeparture left : departures) {
            if (ranks.contains(left.rank()) && operation > left.completed(processSet)) {
                return left;
            }
        }
        RankDeparture failed = failure;
        boolean ends =
                failed != null && (operation == 0 || operation > failed.completed(processSet));
        return ends ? failed : null;
    }

    @Override
    public synchronized void rankDeparted(RankDeparture news) {
        if (news.orderly()) {
            departures.add(news);
        } else if (failure == null) {
            failure = news;
        }
        lossKnown.countDown();
    }

    /// The better story of a failure seen here: the loss behind it, when news of one comes soon.
    ///
    /// @param ranks whose departure may have led to it
    public HorovodException explain(HorovodException seen, List<Integer> ranks) {
        try {
            lossKnown.await(LOSS_REPORT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        RankDeparture known = causeOf(seen, ranks);
        if (known != null) {
            return describe(known);
        }
        return seen instanceof LinkBrokenException broken
                ? new PeerLostException(
                        broken.peer(),
                        "an unknown host",
                        "rank %d is lost: %s".formatted(broken.peer(), broken.getMessage()),
                        broken)
                : seen;
    }

    /// A failure, unless a link to a rank that has left in order is broken: then others may have failed,
    /// and left, for want of the first that left.
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
                        Its own output tells why; this rank is well, but cannot go on without it."""
                                .formatted(who, rankDeparture.reason()),
                        null);
    }
}
