package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.process.OutputReader;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;

/// Sends one stream of a process to the launcher, as far as that allows.
final class OutputSender implements OutputReader.Taker {
    private static final int CHUNK = 1 << 15;

    private final int process;
    private final Message.Stream stream;
    private final Line line;
    private final Semaphore credit = new Semaphore(Message.Stream.WINDOW);
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    /// @param process its number
    OutputSender(int process, Message.Stream stream, Line line) {
        this.process = process;
        this.stream = stream;
        this.line = line;
    }

    OutputReader start(InputStream source) {
        return OutputReader.start(
                "hvd-output-%d-%s".formatted(process, stream), source, CHUNK, this);
    }

    void grant(int bytes) {
        credit.release(bytes);
    }

    /// Complete once the launcher was told the end of the stream.
    CompletableFuture<Void> ended() {
        return ended;
    }

    @Override
    public void take(byte[] chunk, int length) {
        if (ended.isDone()) {
            return; // the stream was given up, and nobody would grant anything for it
        }
        credit.acquireUninterruptibly(length);
        send(Arrays.copyOf(chunk, length));
    }

    @Override
    public void end() {
        send(new byte[0]);
        ended.complete(null);
    }

    private void send(byte[] bytes) {
        try {
            line.send(new Message.Output(process, stream, bytes));
        } catch (IOException e) {
            // Whoever receives hears of it too, and ends the agent.
            System.getLogger(OutputSender.class.getName())
                    .log(Level.DEBUG, "Nobody takes the output of a process any more", e);
        }
    }
}
