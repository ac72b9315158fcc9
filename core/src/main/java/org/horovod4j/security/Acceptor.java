package org.horovod4j.security;

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
public final class Acceptor implements AutoCloseable {
    private static final Logger LOGGER = Log.of(Acceptor.class);
    private static final int BACKLOG = 4096;
    private static final int MAX_PENDING_HANDSHAKES = 512;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /// Far longer than those who know the secret need to say so.
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ServerSocketChannel listener;
    private final InetSocketAddress address;
    private final Handshake handshake;
    private final SocketSettings settings;
    private final RefusedConnectionLog refusals;
    private final ConnectionHandler handler;
    private final Executor threads;
    private final Queue<PendingHandshake> pendingHandshakes = new ConcurrentLinkedQueue<>();
    private final Semaphore permits = new Semaphore(MAX_PENDING_HANDSHAKES);

    /// Who gets the line to each that proved itself, in blocking mode and on a thread of its own,
    /// and owns it from then on.
    @FunctionalInterface
    public interface ConnectionHandler {
        /// Takes over the line to one that proved itself.
        ///
        /// @throws IOException when the line is broken already; it is then closed
        void accepted(SecureConnection secureConnection) throws IOException;
    }

    private record PendingHandshake(SocketChannel channel, long sinceNanos) {}

    private Acceptor(
            ServerSocketChannel listener,
            Handshake handshake,
            SocketSettings settings,
            RefusedConnectionLog refusals,
            ConnectionHandler connectionHandler,
            Executor threads)
            throws IOException {
        this.listener = listener;
        this.address = (InetSocketAddress) listener.getLocalAddress();
        this.handshake = handshake;
        this.settings = settings;
        this.refusals = refusals;
        this.handler = connectionHandler;
        this.threads = threads;
    }

    /// Listens at `bind`; a wildcard address takes IPv4 and IPv6, port 0 any free port.
    ///
    /// @throws ConfigurationException when it cannot listen there
    public static Acceptor open(
            InetSocketAddress bind,
            Handshake handshake,
            SocketSettings settings,
            RefusedConnectionLog refusals,
            ConnectionHandler connectionHandler) {
        Thread.Builder doors = Thread.ofPlatform().daemon().name("hvd-handshake");
        return open(bind, handshake, settings, refusals, connectionHandler, doors::start);
    }

    /// @param threads runs what is to be done for a connection, on a thread of its own
    static Acceptor open(
            InetSocketAddress bind,
            Handshake handshake,
            SocketSettings settings,
            RefusedConnectionLog refusals,
            ConnectionHandler connectionHandler,
            Executor threads) {
        try {
            ServerSocketChannel listener = ServerSocketChannel.open();
            try {
                settings.apply(listener);
                listener.bind(bind, BACKLOG);
                Acceptor acceptor =
                        new Acceptor(
                                listener,
                                handshake,
                                settings,
                                refusals,
                                connectionHandler,
                                threads);
                Thread.ofPlatform()
                        .daemon()
                        .name("hvd-acceptor-" + acceptor.address.getPort())
                        .start(acceptor::acceptLoop);
                return acceptor;
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
        pendingHandshakes.forEach(pendingHandshake -> closeQuietly(pendingHandshake.channel));
    }

    private void acceptLoop() {
        while (listener.isOpen()) {
            awaitPermit();
            try {
                PendingHandshake pendingHandshake =
                        new PendingHandshake(listener.accept(), System.nanoTime());
                pendingHandshakes.add(pendingHandshake);
                startHandshake(pendingHandshake);
            } catch (ClosedChannelException e) {
                return; // closed on purpose
            } catch (IOException e) {
                // Out of file descriptors, say: that may pass, and the job needs its door.
                permits.release();
                LOGGER.log(Level.WARNING, "Accepting at " + address + " failed, trying again", e);
                LockSupport.parkNanos(RETRY_NANOS);
            }
        }
    }

    private void awaitPermit() {
        while (!tryAcquirePermit()) {
            PendingHandshake oldest = pendingHandshakes.peek();
            if (oldest != null && System.nanoTime() - oldest.sinceNanos > GRACE_NANOS) {
                closeQuietly(oldest.channel); // which ends its thread
            }
        }
    }

    private boolean tryAcquirePermit() {
        try {
            return permits.tryAcquire(RETRY_NANOS, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return false; // nobody has a reason to interrupt this thread
        }
    }

    /// Without a thread for it, the stranger is sent off rather than left to wait: it dials again.
    private void startHandshake(PendingHandshake pendingHandshake) {
        try {
            threads.execute(() -> authenticateAndHandle(pendingHandshake));
        } catch (OutOfMemoryError e) { // "unable to create native thread"
            handshakeEnded(pendingHandshake);
            closeQuietly(pendingHandshake.channel);
            LOGGER.log(Level.WARNING, "No thread for a connection to " + address, e);
            LockSupport.parkNanos(RETRY_NANOS);
        }
    }

    private void handshakeEnded(PendingHandshake pendingHandshake) {
        pendingHandshakes.remove(pendingHandshake);
        permits.release();
    }

    private void authenticateAndHandle(PendingHandshake pendingHandshake) {
        SocketChannel channel = pendingHandshake.channel;
        boolean welcome = false;
        try {
            SecureConnection secureConnection = authenticate(pendingHandshake);
            if (listener.isOpen()) {
                handler.accepted(secureConnection);
                welcome = true;
            }
        } catch (HandshakeException e) {
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

    private SecureConnection authenticate(PendingHandshake pendingHandshake) throws IOException {
        try {
            settings.apply(pendingHandshake.channel);
            return handshake.accept(pendingHandshake.channel);
        } finally {
            handshakeEnded(pendingHandshake);
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
