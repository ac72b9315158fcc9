package org.horovod4j.spark;

import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/// The driver's end of the connections to the tasks of one job.
///
/// Each task has one connection while it runs. Each index is accepted once: a second task with the
/// same index is either a retry of Spark, or somebody who has read the closure.
final class TaskServer implements AutoCloseable {
    private static final Logger LOGGER = Log.of(TaskServer.class);

    private final Duration heartbeatTimeout;
    private final Listener listener;
    private final TaskMessage.Codec codec = new TaskMessage.Codec();
    private final Set<Integer> known = new HashSet<>();
    private final Set<Connection<TaskMessage>> connections = new HashSet<>();
    private final Acceptor acceptor;
    private int expected;
    private boolean isClosed;

    /// Receives the events of tasks, on one thread for each task. Must not block, except for
    /// [#printed], which stops only the task that prints.
    interface Listener {
        void registered(ConnectedTask task);

        void printed(ConnectedTask task, boolean isError, String line);

        void ended(ConnectedTask task, TaskMessage.FromTask how);

        /// The connection has ended. Nothing more comes from this task.
        ///
        /// @param reason "its connection closed"
        void disconnected(ConnectedTask task, String reason);
    }

    /// A task that has a connection.
    record ConnectedTask(TaskMessage.Hello hello, Connection<TaskMessage> connection) {
        void start(TaskMessage.Start start) {
            connection.send(start);
        }

        void stop(String reason) {
            connection.send(new TaskMessage.Stop(reason));
        }
    }

    /// @param secret of the connections, not of the job
    /// @param expected the number of tasks: their indices are below it
    TaskServer(
            Secret secret,
            InetSocketAddress bind,
            Duration heartbeatTimeout,
            int expected,
            Listener listener) {
        this.heartbeatTimeout = heartbeatTimeout;
        this.expected = expected;
        this.listener = listener;
        this.acceptor =
                Acceptor.open(
                        List.of(bind),
                        new Handshake(secret, Purpose.TASK),
                        SocketSettings.of(heartbeatTimeout),
                        new RefusedConnectionLog(LOGGER),
                        this::accept);
    }

    int port() {
        return acceptor.address().getPort();
    }

    /// Lets one more task connect.
    ///
    /// @return its index
    synchronized int expectAnother() {
        return expected++;
    }

    /// Lets no more tasks connect. The ticket in the closure is of no use from now on.
    void acceptNoMore() {
        acceptor.close();
    }

    /// Waits until all tasks have disconnected, for `limit` at most.
    ///
    /// @return whether they have
    synchronized boolean awaitDisconnects(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        long left;
        while (!connections.isEmpty() && (left = deadline - System.nanoTime()) > 0) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return connections.isEmpty();
    }

    /// Closes all connections. Tasks that still run end.
    @Override
    public void close() {
        acceptor.close();
        List<Connection<TaskMessage>> open;
        synchronized (this) {
            isClosed = true;
            open = List.copyOf(connections);
        }
        open.forEach(Connection::finish);
    }

    private void accept(SecureConnection accepted) throws IOException {
        Connection<TaskMessage> connection =
                new Connection<>(accepted, codec, TaskMessage.Codec.MAX_BYTES, heartbeatTimeout);
        if (add(connection)) {
            connection.start("hvd-spark-task", new Session(connection));
        } else { // its handshake ended after the job
            connection.close();
        }
    }

    private synchronized boolean add(Connection<TaskMessage> connection) {
        return !isClosed && connections.add(connection);
    }

    private synchronized void register(int index) throws MalformedMessageException {
        if (index < 0 || index >= expected || !known.add(index)) {
            throw new MalformedMessageException("task %d is not expected".formatted(index));
        }
    }

    private synchronized void remove(Connection<TaskMessage> connection) {
        connections.remove(connection);
        notifyAll();
    }

    /// Handles the messages of one task.
    private final class Session implements Connection.Receiver<TaskMessage> {
        /// How many lines are acknowledged at once.
        private static final int LINES = TaskOutput.MAX_LINES / 4;

        private final Connection<TaskMessage> connection;
        private @Nullable ConnectedTask task;
        private int lines;

        Session(Connection<TaskMessage> connection) {
            this.connection = connection;
        }

        @Override
        public void received(TaskMessage message) throws MalformedMessageException {
            ConnectedTask sender = task;
            switch (message) {
                case TaskMessage.Hello hello when sender == null -> {
                    try {
                        register(hello.index());
                    } catch (MalformedMessageException e) {
                        connection.send(
                                new TaskMessage.Stop(
                                        "the driver has had a task of this number before"));
                        throw e;
                    }
                    ConnectedTask registered = new ConnectedTask(hello, connection);
                    task = registered;
                    listener.registered(registered);
                }
                case TaskMessage.Printed(boolean isError, String line) when sender != null -> {
                    listener.printed(sender, isError, line);
                    if (++lines == LINES) {
                        lines = 0;
                        connection.send(new TaskMessage.LinesPrinted(LINES));
                    }
                }
                case TaskMessage.Returned how when sender != null -> listener.ended(sender, how);
                case TaskMessage.Threw how when sender != null -> listener.ended(sender, how);
                default ->
                        throw new MalformedMessageException(
                                "a message that a task may not send now");
            }
        }

        @Override
        public void closed(CloseReason closeReason) {
            ConnectedTask sender = task;
            if (sender != null) {
                listener.disconnected(sender, closeReason.detail());
            }
            remove(connection);
        }
    }
}
