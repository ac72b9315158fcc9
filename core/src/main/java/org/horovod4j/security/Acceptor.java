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

/// Accepts connections from peers that know the job's secret, and rejects all others.
///
/// Each connection gets its own thread, from the handshake on, so a peer never waits for a
/// stranger. The number of concurrent handshakes is limited: a flood of connections fills the
/// kernel's queue and not this process's table of open files. When the limit is reached, the oldest
/// pending handshake is dropped for the next.
///
/// Any failure closes the connection it concerns, so its peer need not wait. The acceptor stays
/// open.
public final class Acceptor implements AutoCloseable {
    private static final Logger LOGGER = Log.of(Acceptor.class);
    private static final int BACKLOG = 4096;
    private static final int MAX_PENDING_HANDSHAKES = 512;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /// Far longer than a peer that knows the secret needs.
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

    /// Receives each authenticated connection, in blocking mode and on its own thread, and owns it.
    @FunctionalInterface
    public interface ConnectionHandler {
        /// Takes ownership of an authenticated connection.
        ///
        /// @throws IOException when the connection is broken already; it is then closed
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
        Thread.Builder builder = Thread.ofPlatform().daemon().name("hvd-handshake");
        return open(bind, handshake, settings, refusals, connectionHandler, builder::start);
    }

    /// @param threads runs the work of each connection, on its own thread
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

    /// Stops listening and closes pending handshakes. Accepted connections stay open.
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
                // For example, no file descriptors are left. That may pass, so try again.
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
                closeQuietly(oldest.channel); // ends its thread
            }
        }
    }

    private boolean tryAcquirePermit() {
        try {
            return permits.tryAcquire(RETRY_NANOS, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return false; // nothing interrupts this thread
        }
    }

    /// Without a thread for it, the connection is closed. The peer connects again.
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
        boolean handedOver = false;
        try {
            SecureConnection secureConnection = authenticate(pendingHandshake);
            if (listener.isOpen()) {
                handler.accepted(secureConnection);
                handedOver = true;
            }
        } catch (HandshakeException e) {
            if (listener.isOpen()) {
                refusals.refused(channel.socket().getInetAddress(), e);
            }
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "A connection broke during the handshake", e);
        } finally {
            if (!handedOver) {
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

    /// The connection may be broken already, so a failure to close it is not worth a warning.
    private static void closeQuietly(Channel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing " + channel + " failed", e);
        }
    }
}
