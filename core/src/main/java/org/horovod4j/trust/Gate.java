package org.horovod4j.trust;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/// A listener that admits those who know the job's secret and turns all others away.
///
/// Each connection has a thread of its own, from the handshake to the end of what the admitted one
/// wants, so that nobody waits for a stranger. Only so many handshakes run at a time: a flood fills
/// the kernel's queue, not our table of open files. When as many strangers are silent, the one that
/// has been so for longest is sent off for the next.
///
/// Whatever fails, the connection at hand is closed, so that whoever is at its other end need not
/// wait, and the gate stays open.
public final class Gate implements AutoCloseable {
    private static final Logger LOGGER = Log.of(Gate.class);
    private static final int BACKLOG = 4096;
    private static final int MAX_STRANGERS = 512;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /// Far longer than those who know the secret need to say so.
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ServerSocketChannel listener;
    private final InetSocketAddress address;
    private final Handshake handshake;
    private final SocketSettings settings;
    private final RefusalLog refusals;
    private final Host host;
    private final Executor threads;
    private final Queue<Stranger> strangers = new ConcurrentLinkedQueue<>();
    private final Semaphore room = new Semaphore(MAX_STRANGERS);

    /// Who gets the line to each that proved itself, in blocking mode and on a thread of its own,
    /// and owns it from then on.
    @FunctionalInterface
    public interface Host {
        /// Takes over the line to one that proved itself.
        ///
        /// @throws IOException when the line is broken already; it is then closed
        void welcome(Line line) throws IOException;
    }

    private record Stranger(SocketChannel channel, long sinceNanos) {}

    private Gate(
            ServerSocketChannel listener,
            Handshake handshake,
            SocketSettings settings,
            RefusalLog refusals,
            Host host,
            Executor threads)
            throws IOException {
        this.listener = listener;
        this.address = (InetSocketAddress) listener.getLocalAddress();
        this.handshake = handshake;
        this.settings = settings;
        this.refusals = refusals;
        this.host = host;
        this.threads = threads;
    }

    /// Listens at `bind`; a wildcard address takes IPv4 and IPv6, port 0 any free port.
    ///
    /// @throws ConfigurationException when it cannot listen there
    public static Gate open(
            InetSocketAddress bind,
            Handshake handshake,
            SocketSettings settings,
            RefusalLog refusals,
            Host host) {
        Thread.Builder doors = Thread.ofPlatform().daemon().name("hvd-door");
        return open(bind, handshake, settings, refusals, host, doors::start);
    }

    /// @param threads runs what is to be done for a connection, on a thread of its own
    static Gate open(
            InetSocketAddress bind,
            Handshake handshake,
            SocketSettings settings,
            RefusalLog refusals,
            Host host,
            Executor threads) {
        try {
            ServerSocketChannel listener = ServerSocketChannel.open();
            try {
                settings.apply(listener);
                listener.bind(bind, BACKLOG);
                Gate gate = new Gate(listener, handshake, settings, refusals, host, threads);
                Thread.ofPlatform()
                        .daemon()
                        .name("hvd-gate-" + gate.address.getPort())
                        .start(gate::serve);
                return gate;
            } catch (IOException e) {
                listener.close();
                throw e;
            }
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    listening at %s: %s
                    Choose an address of this host and a port that is free (0 picks one)."""
                            .formatted(bind, e.getMessage()),
                    e);
        }
    }

    /// Where it listens, with the port that was picked.
    public InetSocketAddress address() {
        return address;
    }

    /// Ends the listening and all handshakes under way; admitted connections live on.
    @Override
    public void close() {
        closeQuietly(listener);
        strangers.forEach(stranger -> closeQuietly(stranger.channel));
    }

    private void serve() {
        while (listener.isOpen()) {
            makeRoom();
            try {
                Stranger stranger = new Stranger(listener.accept(), System.nanoTime());
                strangers.add(stranger);
                begin(stranger);
            } catch (ClosedChannelException e) {
                return; // closed on purpose
            } catch (IOException e) {
                // Out of file descriptors, say: that may pass, and the job needs its door.
                room.release();
                LOGGER.log(Level.WARNING, "Accepting at " + address + " failed, trying again", e);
                LockSupport.parkNanos(RETRY_NANOS);
            }
        }
    }

    private void makeRoom() {
        while (!hasRoom()) {
            Stranger oldest = strangers.peek();
            if (oldest != null && System.nanoTime() - oldest.sinceNanos > GRACE_NANOS) {
                closeQuietly(oldest.channel); // which ends its thread
            }
        }
    }

    private boolean hasRoom() {
        try {
            return room.tryAcquire(RETRY_NANOS, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return false; // nobody has a reason to interrupt this thread
        }
    }

    /// Without a thread for it, the stranger is sent off rather than left to wait: it dials again.
    private void begin(Stranger stranger) {
        try {
            threads.execute(() -> admit(stranger));
        } catch (OutOfMemoryError e) { // "unable to create native thread"
            dismiss(stranger);
            closeQuietly(stranger.channel);
            LOGGER.log(Level.WARNING, "No thread for a connection to " + address, e);
            LockSupport.parkNanos(RETRY_NANOS);
        }
    }

    private void dismiss(Stranger stranger) {
        strangers.remove(stranger);
        room.release();
    }

    private void admit(Stranger stranger) {
        SocketChannel channel = stranger.channel;
        boolean welcome = false;
        try {
            Line line = prove(stranger);
            if (listener.isOpen()) {
                host.welcome(line);
                welcome = true;
            }
        } catch (RefusedException e) {
            if (listener.isOpen()) {
                refusals.refused(channel.socket().getInetAddress(), e);
            }
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "A connection broke before it was of use", e);
        } finally {
            if (!welcome) {
                closeQuietly(channel);
            }
        }
    }

    private Line prove(Stranger stranger) throws IOException {
        try {
            settings.apply(stranger.channel);
            return handshake.accept(stranger.channel);
        } finally {
            dismiss(stranger);
        }
    }

    /// Closing what may be broken already: its failure tells nothing that anybody waits for.
    private static void closeQuietly(Channel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing " + channel + " failed", e);
        }
    }
}
