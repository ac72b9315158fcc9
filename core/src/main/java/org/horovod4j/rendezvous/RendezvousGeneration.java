package org.horovod4j.rendezvous;

import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.text.RankList;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;

/// What the server knows of the ranks that met, or are meeting, in one generation.
///
/// Everything happens under one lock and nothing in it blocks: news are only queued. They are
/// queued in the same order for all, so a rank that hears of a loss has heard before it of every
/// gather that was complete by then.
///
/// Every rank that leaves and the first to fail are announced to all who are still there. A failure
/// is told even after an orderly leave: the ranks may have operations to complete, and wait for the
/// failed one.
final class RendezvousGeneration {
    /// How many gathers a rank may have begun that others have not.
    private static final int MAX_OPEN_GATHERS = 16;

    private final int size;
    private final JoinTimeoutPolicy joinTimeoutPolicy;
    private final ExitReports exits;
    private final MembershipListener membershipListener;
    private final SortedMap<Integer, JoinedRank> joinedRanks = new TreeMap<>();
    private final Map<String, SortedMap<Integer, byte[]>> gathers = new HashMap<>();
    private final SurveyRouter surveyRouter = new SurveyRouter(this::send);
    private RendezvousMessage.@Nullable FromServer outcome;
    private boolean failed;

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

    /// What it means when ranks do not come in time.
    enum JoinTimeoutPolicy {
        /// The job cannot start: somebody has to look at it.
        FAIL_JOB,
        /// The first of them is lost, and the others go on without it in a later generation.
        DECLARE_LOST
    }

    /// A rank that joined; `connectedRanks` until it left or its connection ended.
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

    /// Seats a rank, or tells it why not.
    ///
    /// @return whether it has a seat now
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

    /// Ends the meeting if it is still incomplete.
    ///
    /// @param after how long that took, in words
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
                    announceLoss(neverJoined(missing().first(), "not there after " + after));
        }
    }

    private RendezvousMessage.Refused joinTimedOut(String after) {
        return new RendezvousMessage.Refused(
                """
                joining the job: after %s, %s of %d had not come
                Look at their output first; raise the start timeout if they are slow."""
                        .formatted(after, RankList.format(List.copyOf(missing())), size));
    }

    /// Ends the meeting, if it is still incomplete, because a later generation has begun.
    synchronized void supersede(int by) {
        if (outcome == null && !failed && joinedRanks.size() < size) {
            failed = true;
            announceLoss(neverJoined(missing().first(), "generation %d has begun".formatted(by)));
        }
    }

    private static RendezvousMessage.Lost neverJoined(int rank, String how) {
        return new RendezvousMessage.Lost(
                new RankDeparture(rank, "unknown host", how, false, Map.of()), -1);
    }

    /// Ends the meeting if it still waits for `rank`, whose process has ended.
    synchronized void exited(int rank) {
        String how = exits.exitOf(rank);
        boolean awaited = rank >= 0 && rank < size && !joinedRanks.containsKey(rank);
        if (how == null || failed || outcome != null || !awaited) {
            return;
        }
        failed = true;
        announceLoss(neverJoined(rank, how + ", before it had joined"));
    }

    /// A rank cannot be reached any more, though its connection seems open.
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

    /// Adds a rank's share of a gather, and answers all when it is the last.
    synchronized void gather(int rank, RendezvousMessage.Gather gather)
            throws MalformedMessageException {
        if (outcome != null) {
            return; // the rank will hear, or has heard, why nothing comes of it
        }
        SortedMap<Integer, byte[]> shares =
                gathers.computeIfAbsent(gather.topic(), topic -> new TreeMap<>());
        if (shares.put(rank, gather.share()) != null) {
            throw new MalformedMessageException("topic '" + gather.topic() + "' given twice");
        }
        if (shares.size() == size) {
            gathers.remove(gather.topic());
            announce(new RendezvousMessage.Gathered(gather.topic(), List.copyOf(shares.values())));
        } else if (gathers.values().stream().filter(open -> open.containsKey(rank)).count()
                > MAX_OPEN_GATHERS) {
            throw new MalformedMessageException("more than " + MAX_OPEN_GATHERS + " gathers begun");
        }
    }

    /// A rank asks all who are still there how they are.
    synchronized void survey(int rank, int number) {
        surveyRouter.begin(rank, number, connectedRanks());
    }

    /// A rank has described itself.
    synchronized void described(int rank, RendezvousMessage.DescribeReply answer) {
        surveyRouter.answered(rank, answer);
    }

    /// A rank says farewell.
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

    /// A rank's connection has ended, after a farewell or without one.
    synchronized void disconnected(int rank, CloseReason closeReason) {
        JoinedRank joinedRank = markDisconnected(rank);
        if (joinedRank == null || failed) {
            return;
        }
        // Claimed now, told when the reason is known: what dies of this loss meanwhile is no cause.
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
                String givenUp = closeReason.detail() + ", so the other ranks gave it up";
                joinedRank.connection.send(joinedRank.failed(givenUp));
            }
        }
    }

    /// Whether a failure was announced.
    synchronized boolean hasFailed() {
        return outcome instanceof RendezvousMessage.Lost lost && !lost.rankDeparture().orderly();
    }

    /// Takes a rank's seat away, and forgets all of them with the last: the verdict is enough for
    /// who comes too late.
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

    private void announceLoss(RendezvousMessage.Lost lost) {
        gathers.clear();
        outcome = lost;
        announce(lost);
    }

    private void announce(RendezvousMessage.FromServer news) {
        connectedRanks().forEach(rank -> send(rank, news));
    }

    private void send(int rank, RendezvousMessage.FromServer news) {
        JoinedRank joinedRank = joinedRanks.get(rank);
        if (joinedRank != null && joinedRank.connected) {
            joinedRank.connection.send(news);
        }
    }

    private Set<Integer> connectedRanks() {
        Set<Integer> present = new TreeSet<>();
        joinedRanks.forEach(
                (rank, joinedRank) -> {
                    if (joinedRank.connected) {
                        present.add(rank);
                    }
                });
        return present;
    }

    /// Why `join` cannot be granted, or null.
    private RendezvousMessage.@Nullable FromServer refusal(RendezvousMessage.Join join) {
        RankInfo rankInfo = join.rankInfo();
        String who = "rank " + rankInfo.rank() + " on " + rankInfo.host() + " joining the job: ";
        if (join.size() != size) {
            return new RendezvousMessage.Refused(
                    """
                    %sit believes in a size of %d, the job was started with %d
                    Give every rank the same size."""
                            .formatted(who, join.size(), size));
        }
        if (rankInfo.rank() < 0 || rankInfo.rank() >= size) {
            return new RendezvousMessage.Refused(
                    """
                    %sthe job has ranks 0 to %d
                    Give every process one of these."""
                            .formatted(who, size - 1));
        }
        JoinedRank taken = joinedRanks.get(rankInfo.rank());
        if (taken != null) {
            return new RendezvousMessage.Refused(
                    """
                    %sprocess %d on %s has joined as this rank already
                    Give every process a rank of its own."""
                            .formatted(who, taken.rankInfo.pid(), taken.rankInfo.host()));
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
