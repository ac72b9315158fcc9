package org.horovod4j.elastic.desk;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.trust.Gate;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Line;
import org.horovod4j.trust.RefusalLog;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.SocketSettings;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/// Where the workers of an elastic job ask for their places, in the driver's process.
///
/// Each worker keeps one line to it for as long as it lives, so the driver hears at once of its end,
/// and within the heartbeat timeout of its silence. Nothing here waits for a worker.
public final class WorkerDesk implements AutoCloseable {
    private static final Logger LOG = Log.of(WorkerDesk.class);

    /// How many generations' stamps are kept: those that workers are still being assigned to.
    private static final int REMEMBERED = 8;

    private final Duration heartbeatTimeout;
    private final Listener listener;
    private final Map<Integer, DeskLine> workers = new HashMap<>();
    private final Set<DeskLine> lines = new HashSet<>();
    private final TreeMap<Integer, Long> stamps = new TreeMap<>();
    private final Gate gate;
    private long newestStamp;
    private boolean closed;

    private WorkerDesk(
            Secret secret, InetSocketAddress bind, Duration heartbeatTimeout, Listener listener) {
        this.heartbeatTimeout = heartbeatTimeout;
        this.listener = listener;
        this.gate =
                Gate.open(
                        bind,
                        new Handshake(secret, Purpose.DESK),
                        SocketSettings.DEFAULT,
                        new RefusalLog(LOG),
                        this::admit);
    }

    /// Hears of the workers, on threads of the desk: those of different workers at once. Must not wait
    /// for anything.
    public interface Listener {
        /// A worker wants a place.
        ///
        /// @param generation the newest whose state it has, or -1 when it has none
        /// @param why the failure that ended its last generation, or nothing
        void ready(int worker, int generation, String why);

        /// A worker's line has ended, however that came. Nothing is heard of this worker any more.
        ///
        /// @param how "its connection closed", "silent for 10 s"
        void lost(int worker, String how);
    }

    /// Opens a desk.
    ///
    /// @param bind where to listen; a wildcard address serves IPv4 and IPv6, port 0 any free port
    /// @param heartbeatTimeout how long a worker may be silent before it counts as lost
    /// @throws ConfigurationException when it cannot listen there
    public static WorkerDesk open(
            Secret secret, InetSocketAddress bind, Duration heartbeatTimeout, Listener listener) {
        return new WorkerDesk(secret, bind, heartbeatTimeout, listener);
    }

    /// Where it listens; the host part is a wildcard if that was asked for.
    public InetSocketAddress address() {
        return gate.address();
    }

    /// Gives a worker that is ready its place. One that is gone meanwhile is not told: [Listener#lost]
    /// says so, or has said so.
    public synchronized void assign(int worker, Place place) {
        long stamp = stamps.computeIfAbsent(place.generation(), _ -> newestStamp);
        while (stamps.size() > REMEMBERED) {
            stamps.pollFirstEntry();
        }
        say(worker, new Word.Assigned(place, stamp));
    }

    /// Tells a worker that there is no place for it any more: its process ends with exit code 0.
    public synchronized void dismiss(int worker, String reason) {
        say(worker, new Word.Dismissed(reason));
    }

    /// Tells all workers that hosts have come or will go, so that they ask for new places when they next
    /// commit or check. Generations whose assignment begins later take it into account.
    ///
    /// @param stamp above 0 and above all before it
    public synchronized void hostsUpdated(long stamp) {
        if (stamp <= newestStamp) {
            throw new IllegalArgumentException(
                    "stamp %d after stamp %d: it must be newer".formatted(stamp, newestStamp));
        }
        newestStamp = stamp;
        workers.values().forEach(line -> line.say(new Word.HostsUpdated(stamp)));
    }

    /// Ends the service: workers that wait for a place hear that the launcher is gone.
    @Override
    public synchronized void close() {
        closed = true;
        gate.close();
        lines.forEach(DeskLine::finish);
    }

    private void say(int worker, Word.FromDesk word) {
        DeskLine line = workers.get(worker);
        if (line != null) {
            line.say(word);
        }
    }

    private void admit(Line admitted) throws IOException {
        DeskLine line = new DeskLine(admitted, heartbeatTimeout);
        synchronized (this) {
            if (closed) { // it slipped in while the others were sent off
                line.close();
            }
            lines.add(line);
            line.say(new Word.Welcome(!stamps.isEmpty()));
        }
        line.start("hvd-desk", new Visitor(line));
    }

    private synchronized void register(int worker, DeskLine line) throws MalformedMessageException {
        if (workers.putIfAbsent(worker, line) != null) {
            throw new MalformedMessageException("there is a worker %d already".formatted(worker));
        }
    }

    private synchronized void unregister(@Nullable Integer worker, DeskLine line) {
        lines.remove(line);
        if (worker != null) {
            workers.remove(worker);
        }
    }

    /// What comes from one worker.
    private final class Visitor implements DeskLine.Receiver {
        private final DeskLine line;
        private @Nullable Integer worker;

        Visitor(DeskLine line) {
            this.line = line;
        }

        @Override
        public void heard(Word word) throws MalformedMessageException {
            if (!(word instanceof Word.FromWorker said)) {
                throw new MalformedMessageException("the desk's words from a worker");
            }
            switch (said) {
                case Word.Alive() -> {}
                case Word.Ready(int number, int generation, String why) -> {
                    identify(number);
                    listener.ready(number, generation, why);
                }
            }
        }

        private void identify(int number) throws MalformedMessageException {
            if (worker == null) {
                register(number, line);
                worker = number;
            } else if (worker != number) {
                throw new MalformedMessageException(
                        "worker %d calls itself worker %d".formatted(worker, number));
            }
        }

        @Override
        public void ended(String how) {
            Integer known = worker;
            unregister(known, line);
            if (known == null) {
                LOG.log(Level.DEBUG, "somebody left the desk before saying who: {0}", how);
            } else {
                listener.lost(known, how);
            }
        }
    }
}
