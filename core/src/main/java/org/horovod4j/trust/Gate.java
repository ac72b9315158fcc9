package org.horovod4j.trust;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/// A listener that admits those who know the job's secret and turns all others away.
///
/// Each connection has a thread of its own, from the handshake to the end of what the
/// admitted one wants, so that nobody waits for a stranger. Only so many handshakes run at a time:
/// a flood fills the kernel's queue, not our table of open files.
public final class Gate implements AutoCloseable {
    private static final Logger LOGGER = Log.of(Gate.class);
    private static final int BACKLOG = 4096;
    private static final int MAX_STRANGERS = 512;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final ServerSocketChannel listener;
    private final InetSocketAddress address;
    private final Handshake handshake;
    private final SocketSettings settings;
    private final RefusalLog refusals;
    private final Consumer<Line> admitted;
    private final Set<SocketChannel> strangers = ConcurrentHashMap.newKeySet();
    private final Semaphore room = new Semaphore(MAX_STRANGERS);

    private Gate(
            ServerSocketChannel listener,
            Handshake handshake,
            SocketSettings settings,
            RefusalLog refusals,
            Consumer<Line> admitted)
            throws IOException {
        this.listener = listener;
        this.address = (InetSocketAddress) listener.getLocalAddress();
        this.handshake = handshake;
        this.settings = settings;
        this.refusals = refusals;
        this.admitted = admitted;
    }

    /// Listens at `bind`; a wildcard address takes IPv4 and IPv6, port 0 any free port.
    ///
    /// @param admitted is handed the line to each that proved itself, in blocking mode and on a
    ///     thread of its own, and owns it from then on
    /// @throws ConfigurationException when it cannot listen there
    public static Gate open(
            InetSocketAddress bind,
            Handshake handshake,
            SocketSettings settings,
            RefusalLog refusals,
            Consumer<Line> admitted) {
        try {
            ServerSocketChannel listener = ServerSocketChannel.open();
            try {
                settings.apply(listener);
                listener.bind(bind, BACKLOG);
                Gate gate = new Gate(listener, handshake, settings, refusals, admitted);
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
        strangers.forEach(Gate::closeQuietly);
    }

    private void serve() {
        while (listener.isOpen()) {
            room.acquireUninterruptibly();
            try {
                SocketChannel stranger = listener.accept();
                strangers.add(stranger);
                Thread.ofPlatform().daemon().name("hvd-door").start(() -> admit(stranger));
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

    private void admit(SocketChannel stranger) {
        @Nullable Line line = null;
        try {
            settings.apply(stranger);
            Line proved = handshake.accept(stranger);
            line = listener.isOpen() ? proved : null;
        } catch (RefusedException e) {
            if (listener.isOpen()) {
                refusals.refused(stranger.socket().getInetAddress(), e);
            }
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "A connection broke before it had proved anything", e);
        } finally {
            room.release();
            strangers.remove(stranger);
            if (line == null) {
                closeQuietly(stranger);
            }
        }
        if (line != null) {
            admitted.accept(line);
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
