package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.process.OutputReader;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;

/// Sends one stream of a process to the launcher, as far as that allows.
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

    /// Complete once the launcher was told the end of the stream.
    CompletableFuture<Void> ended() {
        return ended;
    }

    @Override
    public void onBytes(byte[] chunk, int length) {
        if (ended.isDone()) {
            return; // the stream was given up, and nobody would grant anything for it
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
            // Whoever receives hears of it too, and ends the agent.
            System.getLogger(OutputSender.class.getName())
                    .log(Level.DEBUG, "Nobody takes the output of a process any more", e);
        }
    }
}
