package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.process.OutputReader;

import java.util.concurrent.CompletableFuture;

/// A process of the agent, and the senders of its two streams.
final class AgentProcess {
    private final int number;
    private final Process process;
    private final OutputSender out;
    private final OutputSender err;
    private final OutputReader outReader;
    private final OutputReader errReader;

    private AgentProcess(int number, Process process, AgentConnection agentConnection) {
        this.number = number;
        this.process = process;
        this.out = new OutputSender(number, AgentMessage.StandardStream.OUT, agentConnection);
        this.err = new OutputSender(number, AgentMessage.StandardStream.ERR, agentConnection);
        this.outReader = out.start(process.getInputStream());
        this.errReader = err.start(process.getErrorStream());
    }

    /// Starts to send the output of the process. Called after the launcher was told that it has
    /// started.
    static AgentProcess start(int number, Process process, AgentConnection agentConnection) {
        return new AgentProcess(number, process, agentConnection);
    }

    Process process() {
        return process;
    }

    void addCredit(AgentMessage.StandardStream standardStream, int bytes) {
        switch (standardStream) {
            case OUT -> out.addCredit(bytes);
            case ERR -> err.addCredit(bytes);
        }
    }

    /// Tells the launcher that both streams have ended, once they are idle. On its own thread:
    /// until then, credits must be handled.
    void drain() {
        Thread.ofPlatform()
                .daemon()
                .name("hvd-drain-" + number)
                .start(
                        () -> {
                            drain(outReader, out);
                            drain(errReader, err);
                        });
    }

    /// Calls `done` when the launcher was told that both streams have ended.
    void whenStreamsEnded(Runnable done) {
        var _ = CompletableFuture.allOf(out.ended(), err.ended()).thenRun(done);
    }

    private static void drain(OutputReader reader, OutputSender sender) {
        try {
            if (!reader.awaitEnd(OutputReader.IDLE_TIMEOUT)) {
                sender.onEnd();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
