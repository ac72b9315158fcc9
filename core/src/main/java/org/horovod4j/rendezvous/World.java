package org.horovod4j.rendezvous;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.rendezvous.Connection.End;
import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;
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
final class World {
    /// How many gathers a rank may have begun that others have not.
    private static final int MAX_OPEN_GATHERS = 16;

    private final int size;
    private final Lateness lateness;
    private final ExitReports exits;
    private final Attendance attendance;
    private final SortedMap<Integer, Seat> seats = new TreeMap<>();
    private final Map<String, SortedMap<Integer, byte[]>> gathers = new HashMap<>();
    private final Surveys surveys = new Surveys(this::tell);
    private Message.@Nullable FromServer verdict;
    private boolean failed;

    World(int size, Lateness lateness, ExitReports exits, Attendance attendance) {
        this.size = size;
        this.lateness = lateness;
        this.exits = exits;
        this.attendance = attendance;
    }

    /// What it means when ranks do not come in time.
    enum Lateness {
        /// The job cannot start: somebody has to look at it.
        REFUSES,
        /// The first of them is lost, and the others go on without it in a later generation.
        LOSES
    }

    /// A rank that joined; `present` until it left or its connection ended.
    private static final class Seat {
        private final Member member;
        private final Connection connection;
        private boolean present = true;

        Seat(Member member, Connection connection) {
            this.member = member;
            this.connection = connection;
        }

        Message.Lost failed(String reason) {
            return lost(reason, false, Map.of());
        }

        Message.Lost lost(String reason, boolean orderly, Map<Integer, Long> completed) {
            return new Message.Lost(
                    new Loss(member.rank(), member.host(), reason, orderly, completed),
                    member.pid());
        }
    }

    /// Seats a rank, or tells it why not.
    ///
    /// @return whether it has a seat now
    synchronized boolean join(Message.Join join, Connection connection) {
        Message.FromServer answer = objection(join);
        if (answer != null) {
            connection.send(answer);
            return false;
        }
        seats.put(join.member().rank(), new Seat(join.member(), connection));
        attendance.joined(join.member().rank());
        if (seats.size() == size && !failed) {
            announce(new Message.Joined(seats.values().stream().map(seat -> seat.member).toList()));
        } else {
            exits.reported().forEach(this::exited);
        }
        return true;
    }

    /// Ends the meeting if it is still incomplete.
    ///
    /// @param after how long that took, in words
    synchronized void expire(String after) {
        if (verdict != null || failed || seats.size() == size) {
            return;
        }
        failed = true;
        switch (lateness) {
            case REFUSES -> {
                verdict = tooLate(after);
                announce(verdict);
            }
            case LOSES -> announceLoss(neverCame(missing().first(), "not there after " + after));
        }
    }

    private Message.Refused tooLate(String after) {
        return new Message.Refused(
                """
                joining the job: after %s, %s of %d had not come
                Look at their output first; raise the start timeout if they are slow."""
                        .formatted(after, RankList.of(missing()), size));
    }

    /// Ends the meeting, if it is still incomplete, because a later generation has begun.
    synchronized void supersede(int by) {
        if (verdict == null && !failed && seats.size() < size) {
            failed = true;
            announceLoss(neverCame(missing().first(), "generation %d has begun".formatted(by)));
        }
    }

    private static Message.Lost neverCame(int rank, String how) {
        return new Message.Lost(new Loss(rank, "unknown host", how, false, Map.of()), -1);
    }

    /// Ends the meeting if it still waits for `rank`, whose process has ended.
    synchronized void exited(int rank) {
        String how = exits.known(rank);
        boolean awaited = rank >= 0 && rank < size && !seats.containsKey(rank);
        if (how == null || failed || verdict != null || !awaited) {
            return;
        }
        failed = true;
        announceLoss(neverCame(rank, how + ", before it had joined"));
    }

    /// A rank cannot be reached any more, though its connection seems open.
    synchronized void giveUp(int rank, String how) {
        Seat seat = vacate(rank);
        if (seat == null) {
            exited(rank);
        } else if (!failed) {
            failed = true;
            attendance.failed(rank, how);
            fail(seat, how);
        }
    }

    /// Adds a rank's share of a gather, and answers all when it is the last.
    synchronized void gather(int rank, Message.Gather gather) throws MalformedMessageException {
        if (verdict != null) {
            return; // the rank will hear, or has heard, why nothing comes of it
        }
        SortedMap<Integer, byte[]> shares =
                gathers.computeIfAbsent(gather.topic(), topic -> new TreeMap<>());
        if (shares.put(rank, gather.share()) != null) {
            throw new MalformedMessageException("topic '" + gather.topic() + "' given twice");
        }
        if (shares.size() == size) {
            gathers.remove(gather.topic());
            announce(new Message.Gathered(gather.topic(), List.copyOf(shares.values())));
        } else if (gathers.values().stream().filter(open -> open.containsKey(rank)).count()
                > MAX_OPEN_GATHERS) {
            throw new MalformedMessageException("more than " + MAX_OPEN_GATHERS + " gathers begun");
        }
    }

    /// A rank asks all who are still there how they are.
    synchronized void survey(int rank, int number) {
        surveys.begin(rank, number, present());
    }

    /// A rank has described itself.
    synchronized void described(int rank, Message.Described answer) {
        surveys.answered(rank, answer);
    }

    /// A rank says farewell.
    synchronized void leave(int rank, Message.Leave leave) {
        Seat seat = vacate(rank);
        if (seat == null || failed) {
            return;
        }
        failed = !leave.orderly();
        if (failed) {
            attendance.failed(rank, leave.reason());
        }
        announceLoss(seat.lost(leave.reason(), leave.orderly(), leave.completed()));
    }

    /// A rank's connection has ended, after a farewell or without one.
    synchronized void disconnected(int rank, End end) {
        Seat seat = vacate(rank);
        if (seat == null || failed) {
            return;
        }
        // Claimed now, told when the reason is known: what dies of this loss meanwhile is no cause.
        failed = true;
        attendance.failed(rank, end.reason());
        switch (end.kind()) {
            case CLOSED ->
                    exits.await(
                            rank,
                            end.reason() + ": the process has probably ended",
                            reason -> fail(seat, reason));
            case SILENT, BROKEN -> {
                String exit = exits.known(rank);
                fail(seat, exit == null ? end.reason() : exit);
                String givenUp = end.reason() + ", so the other ranks gave it up";
                seat.connection.send(seat.failed(givenUp));
            }
        }
    }

    /// Whether a failure was announced.
    synchronized boolean hasFailed() {
        return verdict instanceof Message.Lost lost && !lost.loss().orderly();
    }

    /// Takes a rank's seat away, and forgets all of them with the last: the verdict is enough for
    /// who comes too late.
    private @Nullable Seat vacate(int rank) {
        Seat seat = seats.get(rank);
        if (seat == null || !seat.present) {
            return null;
        }
        seat.present = false;
        surveys.gone(rank);
        if (present().isEmpty()) {
            seats.clear();
        }
        return seat;
    }

    private synchronized void fail(Seat seat, String reason) {
        announceLoss(seat.failed(reason));
    }

    private void announceLoss(Message.Lost lost) {
        gathers.clear();
        verdict = lost;
        announce(lost);
    }

    private void announce(Message.FromServer news) {
        present().forEach(rank -> tell(rank, news));
    }

    private void tell(int rank, Message.FromServer news) {
        Seat seat = seats.get(rank);
        if (seat != null && seat.present) {
            seat.connection.send(news);
        }
    }

    private Set<Integer> present() {
        Set<Integer> present = new TreeSet<>();
        seats.forEach(
                (rank, seat) -> {
                    if (seat.present) {
                        present.add(rank);
                    }
                });
        return present;
    }

    /// Why `join` cannot be granted, or null.
    private Message.@Nullable FromServer objection(Message.Join join) {
        Member member = join.member();
        String who = "rank " + member.rank() + " on " + member.host() + " joining the job: ";
        if (join.size() != size) {
            return new Message.Refused(
                    """
                    %sit believes in a size of %d, the job was started with %d
                    Give every rank the same size."""
                            .formatted(who, join.size(), size));
        }
        if (member.rank() < 0 || member.rank() >= size) {
            return new Message.Refused(
                    """
                    %sthe job has ranks 0 to %d
                    Give every process one of these."""
                            .formatted(who, size - 1));
        }
        Seat taken = seats.get(member.rank());
        if (taken != null) {
            return new Message.Refused(
                    """
                    %sprocess %d on %s has joined as this rank already
                    Give every process a rank of its own."""
                            .formatted(who, taken.member.pid(), taken.member.host()));
        }
        return verdict;
    }

    private NavigableSet<Integer> missing() {
        NavigableSet<Integer> missing = new TreeSet<>();
        IntStream.range(0, size).filter(rank -> !seats.containsKey(rank)).forEach(missing::add);
        return missing;
    }
}
