package org.horovod4j.rendezvous;

import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.text.RankList;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/// The ranks of one generation, on the server.
///
/// One lock guards everything, and nothing under it blocks: messages are only queued. They are
/// queued in the same order for all ranks. So before a rank receives a loss, it has received every
/// allgather that was complete by then.
///
/// The server announces every departure and the first failure to all ranks that are still
/// connected. It announces a failure even after an orderly departure: ranks may have operations to
/// complete, and wait for the failed one.
final class RendezvousGeneration {
    /// How many allgathers a rank may have open at the same time.
    private static final int MAX_OPEN_ALLGATHERS = 16;

    private final int size;
    private final JoinTimeoutPolicy joinTimeoutPolicy;
    private final ExitReports exits;
    private final MembershipListener membershipListener;
    private final SortedMap<Integer, JoinedRank> joinedRanks = new TreeMap<>();
    private final Map<String, SortedMap<Integer, byte[]>> allgathers = new HashMap<>();
    private final SurveyRouter surveyRouter = new SurveyRouter(this::send);
    private RendezvousMessage.@Nullable FromServer outcome;
    private boolean failed;
    private Duration lossDelay = Duration.ZERO;

    RendezvousGeneration(
            int size,
            JoinTimeoutPolicy joinTimeoutPolicy,
            ExitReports exits,
            MembershipListener membershipListener) {
        this.size = size;
        this.joinTimeoutPolicy = joinTimeoutPolicy;
        this.exits = exits;
        this.membershipListener = membershipListener;
    }

    /// What happens when ranks do not join in time.
    enum JoinTimeoutPolicy {
        /// The job cannot start.
        FAIL_JOB,
        /// The first missing rank is declared lost. The others continue without it in a later
        /// generation.
        DECLARE_LOST
    }

    /// A rank that joined. Connected until it leaves or its connection ends.
    private static final class JoinedRank {
        private final RankInfo rankInfo;
        private final Connection<RendezvousMessage> connection;
        private boolean connected = true;

        JoinedRank(RankInfo rankInfo, Connection<RendezvousMessage> connection) {
            this.rankInfo = rankInfo;
            this.connection = connection;
        }

        RendezvousMessage.Lost failed(String reason) {
            return lost(reason, false, Map.of());
        }

        RendezvousMessage.Lost lost(String reason, boolean orderly, Map<Integer, Long> completed) {
            return new RendezvousMessage.Lost(
                    new RankDeparture(rankInfo.rank(), rankInfo.host(), reason, orderly, completed),
                    rankInfo.pid());
        }
    }

    /// Adds a rank, or tells it why it cannot join.
    ///
    /// @return whether the rank was added
    synchronized boolean join(
            RendezvousMessage.Join join, Connection<RendezvousMessage> connection) {
        RendezvousMessage.FromServer answer = refusal(join);
        if (answer != null) {
            connection.send(answer);
            return false;
        }
        joinedRanks.put(join.rankInfo().rank(), new JoinedRank(join.rankInfo(), connection));
        membershipListener.joined(join.rankInfo().rank());
        if (joinedRanks.size() == size && !failed) {
            announce(
                    new RendezvousMessage.Joined(
                            joinedRanks.values().stream()
                                    .map(joinedRank -> joinedRank.rankInfo)
                                    .toList()));
        } else {
            exits.reported().forEach(this::exited);
        }
        return true;
    }

    /// Ends the generation if ranks are still missing.
    ///
    /// @param after how long it has waited, as text
    synchronized void expire(String after) {
        if (outcome != null || failed || joinedRanks.size() == size) {
            return;
        }
        failed = true;
        switch (joinTimeoutPolicy) {
            case FAIL_JOB -> {
                outcome = joinTimedOut(after);
                announce(outcome);
            }
            case DECLARE_LOST ->
                    announceLoss(
                            neverJoined(missing().first(), "it had not joined after " + after));
        }
    }

    private RendezvousMessage.Refused joinTimedOut(String after) {
        return new RendezvousMessage.Refused(
                """
                joining the job: after %s, %s of %d had not joined
                Look at their output first; raise --start-timeout (HOROVOD_START_TIMEOUT) if they are slow."""
                        .formatted(after, RankList.format(List.copyOf(missing())), size));
    }

    /// Ends the generation, if ranks are still missing, because a later one has begun.
    synchronized void supersede(int by) {
        if (outcome == null && !failed && joinedRanks.size() < size) {
            failed = true;
            announceLoss(neverJoined(missing().first(), "generation %d has begun".formatted(by)));
        }
    }

    private static RendezvousMessage.Lost neverJoined(int rank, String reason) {
        return new RendezvousMessage.Lost(
                new RankDeparture(rank, "unknown host", reason, false, Map.of()), -1);
    }

    /// Ends the generation if it still waits for `rank`, whose process has exited.
    synchronized void exited(int rank) {
        String how = exits.exitOf(rank);
        boolean awaited = rank >= 0 && rank < size && !joinedRanks.containsKey(rank);
        if (how == null || failed || outcome != null || !awaited) {
            return;
        }
        failed = true;
        membershipListener.missed(rank, "before it had joined");
        announceLoss(neverJoined(rank, how + ", before it had joined"));
    }

    /// A rank cannot be reached, though its connection seems open.
    synchronized void markUnreachable(int rank, String how) {
        JoinedRank joinedRank = markDisconnected(rank);
        if (joinedRank == null) {
            exited(rank);
        } else if (!failed) {
            failed = true;
            membershipListener.failed(rank, how);
            fail(joinedRank, how);
        }
    }

    /// Adds a rank's contribution to an allgather. The last contribution completes it.
    synchronized void allgather(int rank, RendezvousMessage.Allgather allgather)
            throws MalformedMessageException {
        if (outcome != null) {
            return; // the announced outcome fails this allgather
        }
        SortedMap<Integer, byte[]> contributions =
                allgathers.computeIfAbsent(allgather.topic(), topic -> new TreeMap<>());
        if (contributions.put(rank, allgather.contribution()) != null) {
            throw new MalformedMessageException(
                    "two contributions for topic '" + allgather.topic() + "'");
        }
        if (contributions.size() == size) {
            allgathers.remove(allgather.topic());
            announce(
                    new RendezvousMessage.AllgatherResult(
                            allgather.topic(), List.copyOf(contributions.values())));
        } else if (allgathers.values().stream().filter(open -> open.containsKey(rank)).count()
                > MAX_OPEN_ALLGATHERS) {
            throw new MalformedMessageException(
                    "more than " + MAX_OPEN_ALLGATHERS + " open allgathers");
        }
    }

    /// A rank asks all connected ranks to describe their state.
    synchronized void survey(int rank, int surveyId) {
        surveyRouter.begin(rank, surveyId, connectedRanks());
    }

    /// A rank has described its state.
    synchronized void described(int rank, RendezvousMessage.DescribeReply answer) {
        surveyRouter.answered(rank, answer);
    }

    /// A rank cannot continue without `missing`.
    synchronized void blocked(int missing, String reason) throws MalformedMessageException {
        if (missing < 0 || missing >= size) {
            throw new MalformedMessageException("blocked by rank " + missing);
        }
        membershipListener.missed(missing, reason);
    }

    /// A rank leaves.
    synchronized void leave(int rank, RendezvousMessage.Leave leave) {
        JoinedRank joinedRank = markDisconnected(rank);
        if (joinedRank == null || failed) {
            return;
        }
        failed = !leave.orderly();
        if (failed) {
            membershipListener.failed(rank, leave.reason());
        }
        announceLoss(joinedRank.lost(leave.reason(), leave.orderly(), leave.completed()));
    }

    /// A rank's connection has ended, with or without a leave.
    synchronized void disconnected(int rank, CloseReason closeReason) {
        JoinedRank joinedRank = markDisconnected(rank);
        if (joinedRank == null || failed) {
            return;
        }
        // Marked now, announced when the reason is known: losses in between are consequences of
        // this one.
        failed = true;
        membershipListener.failed(rank, closeReason.detail());
        switch (closeReason.kind()) {
            case CLOSED ->
                    exits.await(
                            rank,
                            closeReason.detail() + ": the process has probably ended",
                            reason -> fail(joinedRank, reason));
            case TIMED_OUT, PROTOCOL_ERROR -> {
                String exit = exits.exitOf(rank);
                fail(joinedRank, exit == null ? closeReason.detail() : exit);
                String reason = closeReason.detail() + ", so the other ranks declared it lost";
                joinedRank.connection.send(joinedRank.failed(reason));
            }
        }
    }

    /// Whether a failure was announced.
    synchronized boolean hasFailed() {
        return outcome instanceof RendezvousMessage.Lost lost && !lost.rankDeparture().orderly();
    }

    /// Marks a rank as disconnected. After the last one, the ranks are dropped: the outcome is
    /// enough to answer late joins.
    private @Nullable JoinedRank markDisconnected(int rank) {
        JoinedRank joinedRank = joinedRanks.get(rank);
        if (joinedRank == null || !joinedRank.connected) {
            return null;
        }
        joinedRank.connected = false;
        surveyRouter.rankDisconnected(rank);
        if (connectedRanks().isEmpty()) {
            joinedRanks.clear();
        }
        return joinedRank;
    }

    private synchronized void fail(JoinedRank joinedRank, String reason) {
        announceLoss(joinedRank.failed(reason));
    }

    /// The job is being ended from outside: from now on losses are announced with a delay.
    synchronized void delayLosses(Duration delay) {
        lossDelay = delay;
    }

    private void announceLoss(RendezvousMessage.Lost lost) {
        if (lossDelay.isZero()) {
            announceLossNow(lost);
        } else {
            CompletableFuture.delayedExecutor(lossDelay.toMillis(), TimeUnit.MILLISECONDS)
                    .execute(() -> announceLossNow(lost));
        }
    }

    private synchronized void announceLossNow(RendezvousMessage.Lost lost) {
        allgathers.clear();
        outcome = lost;
        announce(lost);
    }

    private void announce(RendezvousMessage.FromServer message) {
        connectedRanks().forEach(rank -> send(rank, message));
    }

    private void send(int rank, RendezvousMessage.FromServer message) {
        JoinedRank joinedRank = joinedRanks.get(rank);
        if (joinedRank != null && joinedRank.connected) {
            joinedRank.connection.send(message);
        }
    }

    private Set<Integer> connectedRanks() {
        Set<Integer> connected = new TreeSet<>();
        joinedRanks.forEach(
                (rank, joinedRank) -> {
                    if (joinedRank.connected) {
                        connected.add(rank);
                    }
                });
        return connected;
    }

    /// The answer to a join that is refused, or null.
    private RendezvousMessage.@Nullable FromServer refusal(RendezvousMessage.Join join) {
        RankInfo rankInfo = join.rankInfo();
        String who = "rank " + rankInfo.rank() + " on " + rankInfo.host() + " joining the job: ";
        if (join.size() != size) {
            return new RendezvousMessage.Refused(
                    """
                    %sit reports size %d, but the job has %d ranks
                    Give every rank the same size."""
                            .formatted(who, join.size(), size));
        }
        if (rankInfo.rank() < 0 || rankInfo.rank() >= size) {
            return new RendezvousMessage.Refused(
                    """
                    %sthe job has ranks 0 to %d
                    Give every process one of these ranks."""
                            .formatted(who, size - 1));
        }
        JoinedRank existing = joinedRanks.get(rankInfo.rank());
        if (existing != null) {
            return new RendezvousMessage.Refused(
                    """
                    %sprocess %d on %s has already joined as this rank
                    Give every process its own rank."""
                            .formatted(who, existing.rankInfo.pid(), existing.rankInfo.host()));
        }
        return outcome;
    }

    private NavigableSet<Integer> missing() {
        NavigableSet<Integer> missing = new TreeSet<>();
        IntStream.range(0, size)
                .filter(rank -> !joinedRanks.containsKey(rank))
                .forEach(missing::add);
        return missing;
    }
}
