package org.horovod4j.rendezvous;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.security.SecureConnection;
import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/// One end of an open rendezvous connection: a thread that reads, a thread that writes, and the
/// heartbeats that show each end that the other is alive.
///
/// [#send] only queues, so whoever has news for many never waits for one of them, and a caller that
/// is interrupted does not take the connection with it.
final class Connection {
    private static final Logger LOGGER = Log.of(Connection.class);
    private static final RendezvousMessage.Heartbeat HEARTBEAT = new RendezvousMessage.Heartbeat();

    /// Far more than an honest reader ever leaves waiting.
    private static final int QUEUE_CAPACITY = 1 << 16;

    /// How many heartbeats fit into the time after which silence counts as death.
    private static final int HEARTBEATS_PER_TIMEOUT = 4;

    /// How long an ended connection may take to tell the other end why.
    private static final Duration CLOSE_FLUSH_TIMEOUT = Duration.ofMillis(200);

    private final SecureConnection connection;
    private final RendezvousFrames rendezvousFrames;
    private final Duration heartbeatTimeout;
    private final BlockingQueue<RendezvousMessage> outbound =
            new LinkedBlockingQueue<>(QUEUE_CAPACITY);
    private volatile boolean closing;
    private volatile @Nullable Thread reader;
    private volatile @Nullable Thread writer;

    /// Takes over `connection`.
    Connection(SecureConnection secureConnection, Duration heartbeatTimeout, int readLimit)
            throws IOException {
        this.connection = secureConnection;
        this.rendezvousFrames = new RendezvousFrames(secureConnection, readLimit);
        this.heartbeatTimeout = heartbeatTimeout;
        secureConnection
                .channel()
                .socket()
                .setSoTimeout(Math.clamp(heartbeatTimeout.toMillis(), 1, Integer.MAX_VALUE));
    }

    /// Who hears what comes in, on the reading thread.
    interface Receiver {
        /// Handles one message.
        ///
        /// @throws MalformedMessageException when the message has no place here: ends the
        ///     connection
        void received(RendezvousMessage rendezvousMessage) throws MalformedMessageException;

        /// Nothing more comes. Called once; what is sent from here still goes out.
        void closed(CloseReason closeReason);
    }

    /// Why nothing more comes.
    ///
    /// @param detail continues a sentence that begins with who was at the other end
    record CloseReason(Kind kind, String detail) {
        enum Kind {
            CLOSED,
            TIMED_OUT,
            PROTOCOL_ERROR
        }
    }

    /// Begins to read and write, on two threads made by `threads`.
    void start(Thread.Builder threads, Receiver receiver) {
        writer = threads.unstarted(this::write);
        reader = threads.unstarted(() -> read(receiver));
        writer.start();
        reader.start();
    }

    /// Queues `message`, or closes the connection when the other end has not read for long.
    void send(RendezvousMessage rendezvousMessage) {
        if (!outbound.offer(rendezvousMessage)) {
            LOGGER.log(
                    Level.WARNING,
                    "{0} does not read what it is sent: closing",
                    connection.channel());
            close();
        }
    }

    /// Sends what is queued and waits for the other end to close too, for `limit` at most. An early
    /// close could make the kernel drop what the other end has not yet read.
    void flushAndClose(Duration limit) {
        flushAndAwait(reader, limit);
    }

    /// Closes at once.
    void close() {
        try {
            connection.close();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing " + connection.channel() + " failed", e);
        }
    }

    private void write() {
        long period = Math.max(1, heartbeatTimeout.toNanos() / HEARTBEATS_PER_TIMEOUT);
        try {
            while (!(closing && outbound.isEmpty())) {
                RendezvousMessage next = outbound.poll(period, TimeUnit.NANOSECONDS);
                rendezvousFrames.write(next == null ? HEARTBEAT : next);
                if (outbound.isEmpty()) {
                    rendezvousFrames.flush();
                }
            }
            connection.sendCloseNotify();
            connection.channel().shutdownOutput();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Writing to " + connection.channel() + " failed", e);
            close(); // which the reader hears
        } catch (InterruptedException e) {
            close();
        }
    }

    private void read(Receiver receiver) {
        receiver.closed(receive(receiver));
        flushAndAwait(writer, CLOSE_FLUSH_TIMEOUT);
    }

    private CloseReason receive(Receiver receiver) {
        try {
            while (true) {
                receiver.received(rendezvousFrames.read());
            }
        } catch (EOFException e) {
            return new CloseReason(CloseReason.Kind.CLOSED, "its connection closed");
        } catch (SocketTimeoutException e) {
            return new CloseReason(
                    CloseReason.Kind.TIMED_OUT, "silent for " + seconds(heartbeatTimeout) + " s");
        } catch (MalformedMessageException e) {
            return new CloseReason(
                    CloseReason.Kind.PROTOCOL_ERROR,
                    "it sent what we do not understand: " + e.getMessage());
        } catch (IOException e) {
            return new CloseReason(
                    CloseReason.Kind.CLOSED, "its connection broke (" + e.getMessage() + ")");
        } catch (RuntimeException e) {
            LOGGER.log(
                    Level.ERROR,
                    "What came over " + connection.channel() + " could not be handled",
                    e);
            return new CloseReason(
                    CloseReason.Kind.PROTOCOL_ERROR, "handling its message failed: " + e);
        }
    }

    private void flushAndAwait(@Nullable Thread thread, Duration limit) {
        closing = true;
        if (outbound.offer(HEARTBEAT) // wakes the writer
                && thread != null
                && !thread.equals(Thread.currentThread())) {
            joinUninterruptibly(thread, limit);
        }
        close();
    }

    /// "10", or "0.5" where whole seconds would lie.
    static String seconds(Duration duration) {
        return duration.toMillis() % 1000 == 0
                ? Long.toString(duration.toSeconds())
                : Double.toString(duration.toMillis() / 1000.0);
    }

    private static void joinUninterruptibly(Thread thread, Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        boolean interrupted = false;
        long left;
        while (thread.isAlive() && (left = deadline - System.nanoTime()) > 0) {
            try {
                thread.join(Duration.ofNanos(left));
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
