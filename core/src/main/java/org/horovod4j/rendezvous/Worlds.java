package org.horovod4j.rendezvous;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/// The generations of a job that a server knows: those of one size come to be when somebody joins
/// them, others must be expected, and end those before them.
final class Worlds {
    /// No size: every generation has its own.
    static final int EXPECTED = 0;

    private final int size;
    private final Duration startTimeout;
    private final Attendance attendance;
    private final ExitReports exitsOfJob = new ExitReports(ExitReports.GRACE);
    private final TreeMap<Integer, Meeting> meetings = new TreeMap<>();

    /// @param size of every generation, or [#EXPECTED]
    Worlds(int size, Duration startTimeout, Attendance attendance) {
        this.size = size;
        this.startTimeout = startTimeout;
        this.attendance = attendance;
    }

    /// A generation, and how processes of it ended: a rank of the next may be another process.
    private record Meeting(World world, ExitReports exits) {
        void exited(int rank, String how) {
            exits.report(rank, how);
            world.exited(rank);
        }

        void lost(int rank, String how) {
            exits.report(rank, how);
            world.giveUp(rank, how);
        }
    }

    /// The world of a generation, or null when it is not one that may be joined.
    synchronized @Nullable World of(int generation) {
        Meeting known = meetings.get(generation);
        if (known == null && size != EXPECTED) {
            World world = new World(size, World.Lateness.REFUSES, exitsOfJob, attendance);
            known = new Meeting(limited(world), exitsOfJob);
            meetings.put(generation, known);
        }
        return known == null ? null : known.world;
    }

    /// Why [#of] gave none.
    synchronized String objection(int generation) {
        return meetings.isEmpty()
                ? "no generation has begun yet, so none has number " + generation
                : "generation %d is over, the job is in generation %d"
                        .formatted(generation, meetings.lastKey());
    }

    /// Lets `ranks` ranks meet in `generation`, and ends the meetings of those before.
    synchronized void expect(int generation, int ranks) {
        if (size != EXPECTED || (!meetings.isEmpty() && generation <= meetings.lastKey())) {
            throw new IllegalStateException(
                    "generation %d cannot begin after %s in a job of %s"
                            .formatted(
                                    generation,
                                    meetings.isEmpty() ? "none" : meetings.lastKey(),
                                    size == EXPECTED ? "changing size" : "size " + size));
        }
        List.copyOf(meetings.values()).forEach(old -> old.world.supersede(generation));
        meetings.clear();
        ExitReports exits = new ExitReports(ExitReports.GRACE);
        World world = new World(ranks, World.Lateness.LOSES, exits, attendance);
        meetings.put(generation, new Meeting(limited(world), exits));
    }

    void exited(int rank, String how) {
        exitsOfJob.report(rank, how); // for generations to come, too
        all().forEach(meeting -> meeting.exited(rank, how));
    }

    void lost(int rank, String how) {
        exitsOfJob.report(rank, how);
        all().forEach(meeting -> meeting.lost(rank, how));
    }

    void exited(int generation, int rank, String how) {
        Meeting meeting = meeting(generation);
        if (meeting != null) {
            meeting.exited(rank, how);
        }
    }

    void lost(int generation, int rank, String how) {
        Meeting meeting = meeting(generation);
        if (meeting != null) {
            meeting.lost(rank, how);
        }
    }

    /// Whether a failure was announced in the newest.
    synchronized boolean hasFailed() {
        return !meetings.isEmpty() && meetings.lastEntry().getValue().world.hasFailed();
    }

    private synchronized Collection<Meeting> all() {
        return List.copyOf(meetings.values());
    }

    private synchronized @Nullable Meeting meeting(int generation) {
        return meetings.get(generation);
    }

    /// Lets the meeting in `world` take no longer than the start timeout.
    private World limited(World world) {
        CompletableFuture.delayedExecutor(startTimeout.toMillis(), TimeUnit.MILLISECONDS)
                .execute(() -> world.expire(Connection.seconds(startTimeout) + " s"));
        return world;
    }
}
