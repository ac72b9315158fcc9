package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.process.OutputReader;
import org.horovod4j.launcher.remote.AgentMessage.StandardStream;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;

/// A process of the agent. Its two streams are sent to the launcher, within the credit that the
/// launcher grants.
final class AgentProcess {
    private static final int CHUNK = 1 << 15;

    private final int number;
    private final Process process;
    private final AgentConnection connection;
    private final Sender out;
    private final Sender err;

    /// Starts to send the output of the process. Called after the launcher was told that it has
    /// started.
    AgentProcess(int number, Process process, AgentConnection agentConnection) {
        this.number = number;
        this.process = process;
        this.connection = agentConnection;
        this.out = new Sender(StandardStream.OUT, process.getInputStream());
        this.err = new Sender(StandardStream.ERR, process.getErrorStream());
    }

    Process process() {
        return process;
    }

    void addCredit(StandardStream standardStream, int bytes) {
        switch (standardStream) {
            case OUT -> out.credit.release(bytes);
            case ERR -> err.credit.release(bytes);
        }
    }

    /// Tells the launcher that both streams have ended, once they are idle. On its own thread:
    /// until then, credits must be handled.
    void drain() {
        Runnable drain =
                () -> {
                    out.drain();
                    err.drain();
                };
        Thread.ofPlatform().daemon().name("hvd-drain-" + number).start(drain);
    }

    /// Calls `done` when the launcher was told that both streams have ended.
    void whenStreamsEnded(Runnable done) {
        var _ = CompletableFuture.allOf(out.ended, err.ended).thenRun(done);
    }

    private final class Sender implements OutputReader.Receiver {
        private final StandardStream standardStream;
        private final Semaphore credit = new Semaphore(StandardStream.WINDOW);
        private final CompletableFuture<Void> ended = new CompletableFuture<>();
        private final OutputReader reader;

        Sender(StandardStream standardStream, InputStream source) {
            this.standardStream = standardStream;
            String name = "hvd-output-%d-%s".formatted(number, standardStream);
            this.reader = OutputReader.start(name, source, CHUNK, this);
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

        private void drain() {
            try {
                if (!reader.awaitEnd(OutputReader.IDLE_TIMEOUT)) {
                    onEnd();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void send(byte[] bytes) {
            try {
                connection.send(new AgentMessage.Output(number, standardStream, bytes));
            } catch (IOException e) {
                // The receiving thread sees the failure too, and ends the agent.
                System.getLogger(AgentProcess.class.getName())
                        .log(Level.DEBUG, "Sending the output of a process failed", e);
            }
        }
    }
}
