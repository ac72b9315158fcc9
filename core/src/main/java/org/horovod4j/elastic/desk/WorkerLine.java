package org.horovod4j.elastic.desk;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DismissedException;
import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.trust.Dialler;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.SocketSettings;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/// A worker's line to the [WorkerDesk], over which it is told its places: one for the life of its process.
///
/// How long a worker waits for a place is the driver's to decide: it answers, or its end closes the line.
public final class WorkerLine implements AutoCloseable {
    private static final Logger LOG = Log.of(WorkerLine.class);

    private final int worker;
    private final String desk;
    private final String deskHost;
    private final DeskLine line;
    private final AtomicLong newestStamp = new AtomicLong();
    private final CompletableFuture<Boolean> welcome = new CompletableFuture<>();
    private CompletableFuture<Seat> answer = new CompletableFuture<>();
    private int last = -1;

    private WorkerLine(int worker, List<InetSocketAddress> desks, DeskLine line) {
        this.worker = worker;
        this.desk =
                desks.stream()
                        .map(each -> each.getHostString() + ":" + each.getPort())
                        .collect(Collectors.joining(" or "));
        this.deskHost = desks.getFirst().getHostString();
        this.line = line;
    }

    /// A place, and the news that it takes into account.
    ///
    /// @param stamp of the newest change of hosts that was known when the generation was made, the same
    ///     for all its workers
    public record Seat(Place place, long stamp) {}

    /// Calls the desk.
    ///
    /// @param desks where it may be reached; names are looked up, all addresses tried
    /// @param worker this worker's number
    /// @param heartbeatTimeout how long the desk may be silent before it counts as lost
    /// @param limit how long to try
    /// @throws ConfigurationException when the desk is not reached
    public static WorkerLine dial(
            Secret secret,
            List<InetSocketAddress> desks,
            int worker,
            Duration heartbeatTimeout,
            Duration limit) {
        Handshake handshake = new Handshake(secret, Purpose.DESK);
        Dialler dialler = new Dialler(SocketSettings.DEFAULT, handshake::dial);
        try {
            DeskLine line = new DeskLine(dialler.dial(desks, limit, () -> {}), heartbeatTimeout);
            WorkerLine opened = new WorkerLine(worker, desks, line);
            line.start("hvd-worker-line", opened.new News());
            return opened;
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    asking for a place as elastic worker %d: the launcher was not reached
                    %s
                    Check that the launcher runs, and that its ports are open to this host."""
                            .formatted(worker, e.getMessage()),
                    e);
        }
    }

    /// Whether others train already, who will stand still from the moment that this worker has a place until
    /// it is of use. False as well when the launcher is gone, as [#ready] tells.
    public boolean isAwaited() {
        return welcome.join();
    }

    /// Says that this worker wants a place, and waits for it.
    ///
    /// @param generation the newest whose state it has, or -1 when it has none
    /// @param why the failure that ended its last generation, or nothing
    /// @throws DismissedException when there is none for it any more
    /// @throws PeerLostException when the launcher is gone
    public Seat ready(int generation, String why) {
        CompletableFuture<Seat> awaited;
        synchronized (this) {
            if (answer.isDone() && !answer.isCompletedExceptionally()) {
                answer = new CompletableFuture<>();
            }
            awaited = answer;
        }
        line.say(new Word.Ready(worker, generation, why));
        try {
            return awaited
                    .join(); // which an interrupt does not end, as it would for this worker alone
        } catch (CompletionException e) {
            if (e.getCause() instanceof HorovodException known) {
                throw known;
            }
            throw e;
        }
    }

    /// The stamp of the newest change of hosts that this worker has heard of; 0 when of none.
    public long newestStamp() {
        return newestStamp.get();
    }

    @Override
    public void close() {
        line.finish();
    }

    /// Takes a place, but none in a generation that this worker has left.
    private synchronized void answer(Seat seat) {
        int generation = seat.place.generation();
        if (generation > last && answer.complete(seat)) {
            last = generation;
        } else {
            LOG.log(Level.DEBUG, "not wanted any more: {0}", seat);
        }
    }

    /// For good: whatever is asked later has this answer. The first reason stays.
    private synchronized void refuse(HorovodException reason) {
        if (!answer.completeExceptionally(reason) && !answer.isCompletedExceptionally()) {
            answer = CompletableFuture.failedFuture(reason);
        }
    }

    /// What comes from the desk.
    private final class News implements DeskLine.Receiver {
        @Override
        public void heard(Word word) throws MalformedMessageException {
            if (!(word instanceof Word.FromDesk said)) {
                throw new MalformedMessageException("a worker's words from the desk");
            }
            switch (said) {
                case Word.Alive() -> {}
                case Word.Welcome(boolean hasBegun) -> welcome.complete(hasBegun);
                case Word.Assigned(Place place, long stamp) -> answer(new Seat(place, stamp));
                case Word.Dismissed(String reason) -> refuse(new DismissedException(reason));
                case Word.HostsUpdated(long stamp) ->
                        newestStamp.accumulateAndGet(stamp, Math::max);
            }
        }

        @Override
        public void ended(String how) {
            welcome.complete(false);
            refuse(
                    new PeerLostException(
                            -1,
                            deskHost,
                            """
                            elastic worker %d: the launcher (desk at %s) is gone: %s
                            Look at the launcher's output first."""
                                    .formatted(worker, desk, how),
                            null));
        }
    }
}
