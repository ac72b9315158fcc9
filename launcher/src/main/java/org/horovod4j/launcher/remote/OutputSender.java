package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.process.OutputReader;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;

/// Sends one stream of a process to the launcher, within the credit that the launcher grants.
final class OutputSender implements OutputReader.Receiver {
    private static final int CHUNK = 1 << 15;

    private final int process;
    private final AgentMessage.StandardStream standardStream;
    private final AgentConnection connection;
    private final Semaphore credit = new Semaphore(AgentMessage.StandardStream.WINDOW);
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    /// @param process its number
    OutputSender(
            int process,
            AgentMessage.StandardStream standardStream,
            AgentConnection agentConnection) {
        this.process = process;
        this.standardStream = standardStream;
        this.connection = agentConnection;
    }

    OutputReader start(InputStream source) {
        return OutputReader.start(
                "hvd-output-%d-%s".formatted(process, standardStream), source, CHUNK, this);
    }

    void addCredit(int bytes) {
        credit.release(bytes);
    }

    /// Complete when the launcher was told that the stream has ended.
    CompletableFuture<Void> ended() {
        return ended;
    }

    @Override
    public void onBytes(byte[] chunk, int length) {
        if (ended.isDone()) {
            return; // the stream was abandoned, and no more credit comes
        }
        credit.acquireUninterruptibly(length);
        send(Arrays.copyOf(chunk, length));
    }

    @Override
    public void onEnd() {
        send(new byte[0]);
        ended.complete(null);
    }

    private void send(byte[] bytes) {
        try {
            connection.send(new AgentMessage.Output(process, standardStream, bytes));
        } catch (IOException e) {
            // The receiving thread sees the failure too, and ends the agent.
            System.getLogger(OutputSender.class.getName())
                    .log(Level.DEBUG, "Sending the output of a process failed", e);
        }
    }
}
