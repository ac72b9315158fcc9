package org.horovod4j.spark;

import org.apache.spark.SparkEnv;
import org.horovod4j.ConfigurationException;
import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.function.FunctionFailure;
import org.horovod4j.network.MachineIdentity;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.MultiAddressConnector;
import org.horovod4j.security.SocketSettings;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/// A task's end of its connection to the driver.
final class TaskClient implements AutoCloseable {
    /// How long the last lines and the outcome may take to reach the driver.
    private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(5);

    private final Connection<TaskMessage> connection;
    private final TaskOutput output;
    private final BlockingQueue<TaskMessage.FromDriver> commands = new LinkedBlockingQueue<>();
    private Consumer<String> onStop = _ -> {};

    /// Why the task ends; null while it runs.
    private @Nullable String stopReason;

    /// Connects to the driver and registers the task.
    ///
    /// @throws ConfigurationException when the driver is not reached
    TaskClient(DriverTicket driver, int index) {
        Handshake handshake = new Handshake(driver.connectionSecret(), Purpose.TASK);
        MultiAddressConnector connector =
                new MultiAddressConnector(
                        SocketSettings.of(driver.heartbeatTimeout()), handshake::initiate);
        InetSocketAddress address =
                InetSocketAddress.createUnresolved(driver.host(), driver.port());
        try {
            this.connection =
                    new Connection<>(
                            connector.connect(List.of(address), driver.startTimeout(), () -> {}),
                            new TaskMessage.Codec(),
                            TaskMessage.Codec.MAX_BYTES,
                            driver.heartbeatTimeout());
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    connecting a Spark task to the driver at %s:%d: the driver was not reached
                    %s
                    Let executors reach the driver at this port, or choose ports by HvdSpark.ports; \
                    spark.driver.host is the name that they use."""
                            .formatted(driver.host(), driver.port(), e.getMessage()),
                    e);
        }
        String executor = SparkEnv.get().executorId();
        String host = SparkEnv.get().blockManager().blockManagerId().host();
        this.output =
                new TaskOutput(
                        (isError, line) -> connection.send(new TaskMessage.Printed(isError, line)),
                        !executor.equals("driver"));
        connection.start("hvd-spark-driver", new DriverReceiver());
        connection.send(
                new TaskMessage.Hello(
                        index,
                        executor,
                        host,
                        MachineIdentity.find().map(MachineIdentity::key).orElse(host),
                        ProcessHandle.current().pid()));
    }

    TaskOutput output() {
        return output;
    }

    /// Calls `action` with the reason when the driver stops the task, or is gone. At once if that
    /// has happened.
    synchronized void onStop(Consumer<String> action) {
        onStop = action;
        if (stopReason != null) {
            action.accept(stopReason);
        }
    }

    private synchronized void stop(String reason) {
        commands.add(new TaskMessage.Stop(reason));
        if (!reason.isEmpty() && stopReason == null) {
            stopReason = reason;
            onStop.accept(reason);
        }
    }

    /// Waits for the next command of the driver.
    TaskMessage.FromDriver await() throws InterruptedException {
        return commands.take();
    }

    void returned() {
        connection.send(new TaskMessage.Returned());
    }

    void threw(FunctionFailure failure) {
        connection.send(new TaskMessage.Threw(failure));
    }

    /// Sends what is queued, and then closes the connection. Does not wait.
    void finish() {
        connection.finish();
    }

    /// Closes the connection, without what is queued.
    void disconnect() {
        connection.close();
    }

    /// Sends what is queued, and closes the connection.
    @Override
    public void close() {
        output.close();
        connection.flushAndClose(FLUSH_TIMEOUT);
    }

    private final class DriverReceiver implements Connection.Receiver<TaskMessage> {
        @Override
        public void received(TaskMessage message) throws MalformedMessageException {
            switch (message) {
                case TaskMessage.Start start -> commands.add(start);
                case TaskMessage.LinesPrinted(int count) -> output.linesPrinted(count);
                case TaskMessage.Stop(String reason) -> stop(reason);
                case TaskMessage.FromTask _ ->
                        throw new MalformedMessageException("a message of a task from the driver");
            }
        }

        @Override
        public void closed(CloseReason closeReason) {
            output.driverGone();
            stop("the driver of Spark is gone: " + closeReason.detail());
        }
    }
}
