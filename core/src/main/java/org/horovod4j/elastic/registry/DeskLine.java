package org.horovod4j.elastic.registry;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.security.SecureConnection;

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

/// One end of an open line: a thread that reads, one that writes, and signs of life both ways.
///
/// [#say] only queues: a driver that has news for all workers never waits for one that is stopped.
final class DeskLine implements AutoCloseable {
    private static final Logger LOG = Log.of(DeskLine.class);
    private static final RegistryMessage ALIVE = new RegistryMessage.Heartbeat();

    /// Far more than a worker that reads ever leaves waiting.
    private static final int QUEUE_CAPACITY = 1 << 12;

    /// How many signs of life fit into the time after which silence counts as death.
    private static final int SIGNS = 4;

    private final SecureConnection secureConnection;
    private final DataInputStream in;
    private final DataOutputStream out;
    private final Duration heartbeatTimeout;
    private final BlockingQueue<RegistryMessage> outbound =
            new LinkedBlockingQueue<>(QUEUE_CAPACITY);
    private volatile boolean finishing;

    /// Takes over `secureConnection`.
    DeskLine(SecureConnection secureConnection, Duration heartbeatTimeout) throws IOException {
        this.secureConnection = secureConnection;
        this.heartbeatTimeout = heartbeatTimeout;
        secureConnection
                .channel()
                .socket()
                .setSoTimeout(Math.clamp(heartbeatTimeout.toMillis(), 1, Integer.MAX_VALUE));
        this.in = new DataInputStream(new BufferedInputStream(secureConnection.input()));
        this.out = new DataOutputStream(new BufferedOutputStream(secureConnection.output()));
    }

    /// Who hears what comes, on the reading thread.
    interface Receiver {
        /// Handles one word.
        ///
        /// @throws MalformedMessageException when the word has no place here: ends the line
        void heard(RegistryMessage registryMessage) throws MalformedMessageException;

        /// Nothing more comes. Called once.
        ///
        /// @param how continues a sentence that begins with who was at the other end
        void ended(String how);
    }

    /// Begins to read and write. Platform threads, since a program that keeps all carriers of
    /// virtual threads busy must not be taken for dead.
    void start(String name, Receiver receiver) {
        Thread.Builder threads = Thread.ofPlatform().daemon().name(name);
        threads.start(this::write);
        threads.start(() -> read(receiver));
    }

    /// Queues `word`, or closes the line when the other end has not read for long.
    void say(RegistryMessage registryMessage) {
        if (!outbound.offer(registryMessage)) {
            LOG.log(
                    Level.WARNING,
                    "{0} does not read what it is sent: closing",
                    secureConnection.channel());
            close();
        }
    }

    /// Closes after what is queued has gone out.
    void finish() {
        finishing = true;
        say(ALIVE); // wakes the writer
    }

    @Override
    public void close() {
        try {
            secureConnection.close();
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "Closing " + secureConnection.channel() + " failed", e);
        }
    }

    private void write() {
        long period = Math.max(1, heartbeatTimeout.toNanos() / SIGNS);
        try {
            while (!(finishing && outbound.isEmpty())) {
                RegistryMessage next = outbound.poll(period, TimeUnit.NANOSECONDS);
                RegistryMessageCodec.write(next == null ? ALIVE : next, out);
                if (outbound.isEmpty()) {
                    out.flush();
                }
            }
            secureConnection.sendCloseNotify();
            secureConnection
                    .channel()
                    .shutdownOutput(); // the other end closes, which the reader hears
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "Writing to " + secureConnection.channel() + " failed", e);
            close(); // which the reader hears
        } catch (InterruptedException e) {
            close();
        }
    }

    private void read(Receiver receiver) {
        String how = receive(receiver);
        close(); // first, since a writer may be stuck in it
        finish();
        receiver.ended(how);
    }

    private String receive(Receiver receiver) {
        try {
            while (true) {
                receiver.heard(RegistryMessageCodec.read(in));
            }
        } catch (EOFException e) {
            return "its connection closed";
        } catch (SocketTimeoutException e) {
            return "silent for " + seconds(heartbeatTimeout) + " s";
        } catch (MalformedMessageException e) {
            return "it sent what we do not understand: " + e.getMessage();
        } catch (IOException e) {
            return "its connection broke (" + e.getMessage() + ")";
        } catch (RuntimeException e) {
            LOG.log(
                    Level.ERROR,
                    "What came over " + secureConnection.channel() + " could not be handled",
                    e);
            return "handling what it said failed: " + e;
        }
    }

    /// "10", or "0.5" where whole seconds would lie.
    private static String seconds(Duration duration) {
        return duration.toMillis() % 1000 == 0
                ? Long.toString(duration.toSeconds())
                : Double.toString(duration.toMillis() / 1000.0);
    }
}
