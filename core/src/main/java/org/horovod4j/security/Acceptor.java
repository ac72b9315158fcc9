package org.horovod4j.security;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.security.HandshakeException.Reason;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/// Accepts connections from peers that know the job's secret, and refuses all others.
///
/// One thread does all handshakes with a selector. Only a peer that has completed its handshake
/// gets a thread of its own, so strangers cost neither threads nor much memory. The number of
/// pending handshakes is limited, in total and for each address. When a limit is reached, the
/// oldest is closed for the next. A peer completes its handshake within milliseconds, so it passes
/// even during a flood.
///
/// Any failure closes the connection it concerns, so its peer need not wait. The acceptor stays
/// open.
public final class Acceptor implements AutoCloseable {
    /// The most connections that may be pending.
    static final int MAX_PENDING = 1024;

    /// The most of them from one address. Many ranks of one host may connect at the same time.
    static final int MAX_PENDING_PER_ADDRESS = 256;

    private static final Logger LOGGER = Log.of(Acceptor.class);

    /// How many connections are accepted before pending ones are read again.
    private static final int MAX_ACCEPTS_PER_ROUND = 64;

    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final ListeningSockets sockets;
    private final Handshake handshake;
    private final SocketSettings settings;
    private final RefusedConnectionLog refusals;
    private final ConnectionHandler handler;
    private final Executor threads;

    /// Whether the last attempt to accept a connection failed. Used by the selector's thread only.
    private boolean failing;

    /// In the order of their deadlines. Used by the selector's thread only.
    private final LinkedHashSet<PendingHandshake> pendingHandshakes = new LinkedHashSet<>();

    /// Receives each authenticated connection, in blocking mode and on its own thread, and owns it.
    @FunctionalInterface
    public interface ConnectionHandler {
        /// Takes ownership of an authenticated connection.
        ///
        /// @throws IOException when the connection is broken already; it is then closed
        void accepted(SecureConnection secureConnection) throws IOException;
    }

    private Acceptor(
            ListeningSockets sockets,
            Handshake handshake,
            SocketSettings settings,
            RefusedConnectionLog refusals,
            ConnectionHandler connectionHandler,
            Executor threads) {
        this.sockets = sockets;
        this.handshake = handshake;
        this.settings = settings;
        this.refusals = refusals;
        this.handler = connectionHandler;
        this.threads = threads;
    }

    /// Listens at several addresses, all at one port; a wildcard address takes IPv4 and IPv6, port
    /// 0 any free port.
    ///
    /// @param binds with equal ports
    /// @throws ConfigurationException when it cannot listen there
    public static Acceptor open(
            List<InetSocketAddress> binds,
            Handshake handshake,
            SocketSettings settings,
            RefusedConnectionLog refusals,
            ConnectionHandler connectionHandler) {
        Thread.Builder builder = Thread.ofPlatform().daemon().name("hvd-accepted");
        return open(binds, handshake, settings, refusals, connectionHandler, builder::start);
    }

    /// @param threads runs the work of each authenticated connection, on its own thread
    static Acceptor open(
            List<InetSocketAddress> binds,
            Handshake handshake,
            SocketSettings settings,
            RefusedConnectionLog refusals,
            ConnectionHandler connectionHandler,
            Executor threads) {
        ListeningSockets sockets = ListeningSockets.open(binds, settings);
        Acceptor acceptor =
                new Acceptor(sockets, handshake, settings, refusals, connectionHandler, threads);
        Thread.ofPlatform()
                .daemon()
                .name("hvd-acceptor-" + sockets.address().getPort())
                .start(acceptor::run);
        return acceptor;
    }

    /// Where it listens first, with the port that was picked.
    public InetSocketAddress address() {
        return sockets.address();
    }

    /// Stops listening and closes pending handshakes. Accepted connections stay open.
    @Override
    public void close() {
        sockets.close();
    }

    private void run() {
        try {
            while (sockets.selector().isOpen()) {
                selectOnce();
            }
        } catch (ClosedSelectorException e) {
            LOGGER.log(Level.DEBUG, "{0} was closed", address());
        } finally {
            sockets.close(); // an Error may have ended this thread
            pendingHandshakes.forEach(each -> closeQuietly(each.channel()));
        }
    }

    private void selectOnce() {
        try {
            sockets.selector().select(timeoutMillis());
        } catch (IOException e) {
            retryLater("Waiting for connections to", e);
        }
        for (SelectionKey key : sockets.takeSelected()) {
            if (!key.isValid()) {
                continue; // closed to make room for another
            }
            if (key.attachment() instanceof PendingHandshake pending) {
                advance(pending);
            } else {
                acceptSome((ServerSocketChannel) key.channel());
            }
        }
        while (!pendingHandshakes.isEmpty() && pendingHandshakes.getFirst().remainingNanos() <= 0) {
            refuse(pendingHandshakes.getFirst(), handshake.timedOut());
        }
    }

    /// Until the next deadline; 0 for no limit.
    private long timeoutMillis() {
        return pendingHandshakes.isEmpty()
                ? 0
                : Math.max(
                        1,
                        TimeUnit.NANOSECONDS.toMillis(
                                pendingHandshakes.getFirst().remainingNanos()));
    }

    private void acceptSome(ServerSocketChannel listener) {
        try {
            for (int i = 0; i < MAX_ACCEPTS_PER_ROUND; i++) {
                SocketChannel channel = listener.accept();
                if (channel == null) {
                    return;
                }
                failing = false;
                begin(channel);
            }
        } catch (ClosedChannelException e) {
            LOGGER.log(Level.DEBUG, "{0} was closed", address());
        } catch (IOException e) {
            // For example, no file descriptors are left. That may pass, so try again.
            if (!pendingHandshakes.isEmpty()) {
                refuse(pendingHandshakes.getFirst(), evicted(pendingHandshakes.size()));
            }
            retryLater("Accepting at", e);
        }
    }

    /// Logs the first failure after a success: without a free file descriptor each attempt fails.
    private void retryLater(String failed, IOException e) {
        if (!failing) {
            failing = true;
            LOGGER.log(Level.WARNING, failed + " " + address() + " failed, trying again", e);
        }
        LockSupport.parkNanos(RETRY_NANOS);
    }

    private void begin(SocketChannel channel) {
        try {
            settings.apply(channel);
            channel.configureBlocking(false);
            PendingHandshake pending = new PendingHandshake(handshake, channel);
            makeRoom(pending.source());
            pendingHandshakes.add(pending);
            channel.register(sockets.selector(), SelectionKey.OP_READ, pending);
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "A connection broke before the handshake", e);
            pendingHandshakes.removeIf(each -> each.channel().equals(channel));
            closeQuietly(channel);
        }
    }

    private void makeRoom(InetAddress source) {
        List<PendingHandshake> ofSource =
                pendingHandshakes.stream().filter(each -> each.source().equals(source)).toList();
        if (ofSource.size() >= MAX_PENDING_PER_ADDRESS) {
            refuse(ofSource.getFirst(), evicted(ofSource.size()));
        } else if (pendingHandshakes.size() >= MAX_PENDING) {
            refuse(pendingHandshakes.getFirst(), evicted(pendingHandshakes.size()));
        }
    }

    private static HandshakeException evicted(int count) {
        return new HandshakeException(
                Reason.EVICTED,
                "was closed before it completed the handshake: %d handshakes were pending"
                        .formatted(count));
    }

    private void advance(PendingHandshake pending) {
        if (!pendingHandshakes.contains(pending)) {
            return; // evicted since it was selected
        }
        try {
            SecureConnection proved = pending.advance();
            if (proved != null) {
                pendingHandshakes.remove(pending);
                handOver(proved);
            }
        } catch (HandshakeException e) {
            refuse(pending, e);
        } catch (RuntimeException e) {
            LOGGER.log(Level.WARNING, "A handshake with " + pending.source() + " failed", e);
            pendingHandshakes.remove(pending);
            closeQuietly(pending.channel());
        }
    }

    private void refuse(PendingHandshake pending, HandshakeException reason) {
        pendingHandshakes.remove(pending);
        closeQuietly(pending.channel());
        if (sockets.selector().isOpen()) {
            refusals.refused(pending.source(), reason);
        }
    }

    /// Without a thread for it, the connection is closed. The peer connects again.
    private void handOver(SecureConnection connection) {
        SocketChannel channel = connection.channel();
        boolean handedOver = false;
        try {
            SelectionKey key = channel.keyFor(sockets.selector());
            if (key != null) {
                key.cancel();
            }
            channel.configureBlocking(true);
            threads.execute(() -> handle(connection));
            handedOver = true;
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "A connection broke after the handshake", e);
        } catch (OutOfMemoryError e) { // "unable to create native thread"
            LOGGER.log(Level.WARNING, "No thread for a connection to " + address(), e);
        } finally {
            if (!handedOver) {
                closeQuietly(channel);
            }
        }
    }

    private void handle(SecureConnection connection) {
        boolean handedOver = false;
        try {
            if (sockets.selector().isOpen()) {
                handler.accepted(connection);
                handedOver = true;
            }
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "A connection broke after the handshake", e);
        } finally {
            if (!handedOver) {
                closeQuietly(connection.channel());
            }
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
