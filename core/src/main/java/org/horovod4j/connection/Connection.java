package org.horovod4j.connection;

import org.horovod4j.frame.Frame;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.text.DurationFormat;
import org.jspecify.annotations.Nullable;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/// One end of a framed, authenticated connection with heartbeats.
///
/// Each message is one [Frame]. An empty frame is a heartbeat. Each end sends a heartbeat when it
/// has sent nothing else for the [Frame#heartbeatPeriod], and closes the connection when it has
/// received nothing for the heartbeat timeout.
///
/// One thread reads and one writes. They are platform threads: a program that keeps all carriers of
/// virtual threads busy must not look dead, and a JVM that has started the poller of virtual threads
/// takes a third of a second longer to exit. [#send] only queues, so a sender never waits for a slow
/// peer, and interrupting the sender does not close the connection.
///
/// @param <M> the messages, in both directions
public final class Connection<M> implements AutoCloseable {
    private static final Logger LOGGER = Log.of(Connection.class);

    /// Far more than a peer that reads ever leaves in the queue.
    private static final int QUEUE_CAPACITY = 1 << 16;

    private static final byte[] HEARTBEAT = new byte[0];

    /// How long the writer may take, after the last read, to tell the peer why the connection ends.
    private static final Duration CLOSE_FLUSH_TIMEOUT = Duration.ofSeconds(2);

    private final SecureConnection connection;
    private final MessageCodec<M> codec;
    private final int maxMessageBytes;
    private final Duration heartbeatTimeout;
    private final DataInputStream in;
    private final DataOutputStream out;
    private final BlockingQueue<Outgoing<M>> outbound = new LinkedBlockingQueue<>(QUEUE_CAPACITY);
    private volatile boolean closing;
    private volatile @Nullable Thread reader;
    private volatile @Nullable Thread writer;

    /// Takes ownership of `connection`.
    ///
    /// @param maxMessageBytes the longest message that this end accepts
    /// @param heartbeatTimeout how long the peer may be silent before the connection is closed
    public Connection(
            SecureConnection connection,
            MessageCodec<M> codec,
            int maxMessageBytes,
            Duration heartbeatTimeout)
            throws IOException {
        this.connection = connection;
        this.codec = codec;
        this.maxMessageBytes = maxMessageBytes;
        this.heartbeatTimeout = heartbeatTimeout;
        connection
                .channel()
                .socket()
                .setSoTimeout(Math.clamp(heartbeatTimeout.toMillis(), 1, Integer.MAX_VALUE));
        this.in = new DataInputStream(new BufferedInputStream(connection.input()));
        this.out = new DataOutputStream(new BufferedOutputStream(connection.output()));
    }

    /// Converts messages to bytes and back.
    public interface MessageCodec<M> {
        /// Returns at least one byte: an empty frame is a heartbeat.
        byte[] encode(M message);

        /// Decodes one message.
        ///
        /// @throws MalformedMessageException when `bytes` are not exactly one message
        M decode(byte[] bytes) throws MalformedMessageException;
    }

    /// Receives the messages, on the reading thread. Must not block.
    public interface Receiver<M> {
        /// Handles one message.
        ///
        /// @throws MalformedMessageException when the message is not allowed here: closes the
        ///     connection
        void received(M message) throws MalformedMessageException;

        /// No more messages come. Called once. What is sent from here still goes out.
        void closed(CloseReason closeReason);
    }

    /// Why no more messages come.
    ///
    /// @param detail continues a sentence whose subject is the peer: "its connection closed"
    public record CloseReason(Kind kind, String detail) {
        public enum Kind {
            CLOSED,
            TIMED_OUT,
            PROTOCOL_ERROR
        }
    }

    /// A message in the queue, or null in its place to wake the writer.
    private record Outgoing<M>(@Nullable M message) {}

    /// Starts the reading and the writing thread.
    public void start(String threadName, Receiver<M> receiver) {
        Thread.Builder threads = Thread.ofPlatform().daemon();
        Thread newWriter = threads.name(threadName + "-writer").unstarted(this::write);
        Thread newReader = threads.name(threadName + "-reader").unstarted(() -> read(receiver));
        writer = newWriter;
        reader = newReader;
        newWriter.start();
        newReader.start();
    }

    /// Queues `message`. Closes the connection if the queue is full, because the peer has stopped
    /// reading.
    public void send(M message) {
        enqueue(new Outgoing<>(message));
    }

    /// Sends what is queued, then ends the output. Does not wait. The connection closes when the
    /// peer closes its end, or when the heartbeat timeout expires.
    public void finish() {
        closing = true;
        enqueue(new Outgoing<>(null));
    }

    /// Like [#finish], and waits until the peer has closed its end, for `limit` at most. Closing
    /// earlier could make the kernel drop data that the peer has not read yet.
    public void flushAndClose(Duration limit) {
        finishAndAwait(reader, limit);
    }

    /// Closes at once, without sending what is queued. Any thread may call this.
    @Override
    public void close() {
        try {
            connection.close();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing " + connection.channel() + " failed", e);
        }
    }

    private void enqueue(Outgoing<M> outgoing) {
        if (!outbound.offer(outgoing)) {
            LOGGER.log(
                    Level.WARNING,
                    "{0} does not read what it is sent: closing",
                    connection.channel());
            close();
        }
    }

    private void write() {
        long period = Math.max(1, Frame.heartbeatPeriod(heartbeatTimeout).toNanos());
        try {
            while (!(closing && outbound.isEmpty())) {
                Outgoing<M> next = outbound.poll(period, TimeUnit.NANOSECONDS);
                Frame.write(bytes(next), out);
                if (outbound.isEmpty()) {
                    out.flush();
                }
            }
            connection.sendCloseNotify();
            connection.channel().shutdownOutput();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Writing to " + connection.channel() + " failed", e);
            close(); // ends the reader too
        } catch (InterruptedException e) {
            close();
        } catch (RuntimeException e) {
            LOGGER.log(Level.ERROR, "Encoding a message to " + connection.channel() + " failed", e);
            close();
        }
    }

    private byte[] bytes(@Nullable Outgoing<M> next) {
        if (next == null || next.message == null) {
            return HEARTBEAT;
        }
        byte[] bytes = codec.encode(next.message);
        if (bytes.length == 0) {
            throw new IllegalArgumentException("a message without bytes: " + next.message);
        }
        return bytes;
    }

    private void read(Receiver<M> receiver) {
        receiver.closed(receive(receiver));
        finishAndAwait(writer, CLOSE_FLUSH_TIMEOUT);
    }

    private CloseReason receive(Receiver<M> receiver) {
        try {
            while (true) {
                byte[] bytes = Frame.read(in, maxMessageBytes);
                if (bytes.length > 0) {
                    receiver.received(codec.decode(bytes));
                }
            }
        } catch (EOFException e) {
            return new CloseReason(CloseReason.Kind.CLOSED, "its connection closed");
        } catch (SocketTimeoutException e) {
            return new CloseReason(
                    CloseReason.Kind.TIMED_OUT,
                    "silent for " + DurationFormat.seconds(heartbeatTimeout));
        } catch (MalformedMessageException e) {
            return new CloseReason(
                    CloseReason.Kind.PROTOCOL_ERROR,
                    "it sent a malformed message: " + e.getMessage());
        } catch (IOException e) {
            return new CloseReason(
                    CloseReason.Kind.CLOSED, "its connection broke (" + e.getMessage() + ")");
        } catch (RuntimeException e) {
            LOGGER.log(
                    Level.ERROR, "Handling a message from " + connection.channel() + " failed", e);
            return new CloseReason(
                    CloseReason.Kind.PROTOCOL_ERROR, "handling its message failed: " + e);
        }
    }

    private void finishAndAwait(@Nullable Thread thread, Duration limit) {
        closing = true;
        if (outbound.offer(new Outgoing<>(null)) // wakes the writer
                && thread != null
                && !thread.equals(Thread.currentThread())) {
            joinUninterruptibly(thread, limit);
        }
        close();
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
