package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.remote.AgentMessage.StandardStream;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/// A process on a remote host, as a [Process]. What the agent reports about it arrives on one
/// thread.
final class RemoteProcess extends Process {
    /// The exit code of a process whose host is lost: that of ssh for a broken connection.
    static final int LOST = 255;

    private final int number;
    private final Consumer<AgentMessage.FromLauncher> commandSender;
    private final RemoteStream out;
    private final RemoteStream err;
    private final CompletableFuture<Long> pid = new CompletableFuture<>();
    private final CompletableFuture<Integer> status = new CompletableFuture<>();

    /// @param number identifies it in messages between launcher and agent
    /// @param commandSender sends a message to the host, unless it is lost
    RemoteProcess(int number, Consumer<AgentMessage.FromLauncher> commandSender) {
        this.number = number;
        this.commandSender = commandSender;
        this.out = stream(StandardStream.OUT);
        this.err = stream(StandardStream.ERR);
    }

    private RemoteStream stream(StandardStream which) {
        return new RemoteStream(
                bytes -> commandSender.accept(new AgentMessage.Credit(number, which, bytes)));
    }

    int number() {
        return number;
    }

    /// Its process number, once it has started.
    CompletableFuture<Long> start() {
        return pid;
    }

    void started(long pid) {
        this.pid.complete(pid);
    }

    /// It could not be started, or the host is lost.
    void notStarted(String reason) {
        pid.completeExceptionally(new IOException(reason));
    }

    void output(StandardStream standardStream, byte[] bytes) {
        switch (standardStream) {
            case OUT -> out.append(bytes);
            case ERR -> err.append(bytes);
        }
    }

    void exited(int exitStatus) {
        status.complete(exitStatus);
    }

    void hostLost(String reason) {
        notStarted(reason);
        out.append(new byte[0]);
        err.append(new byte[0]);
        exited(LOST);
    }

    /// Whether the agent has nothing more to report about it.
    boolean hasEnded() {
        return status.isDone() && out.hasEnded() && err.hasEnded();
    }

    /// The process number on its host. To be called when it has started.
    @Override
    public long pid() {
        return pid.join();
    }

    /// Discards everything: the input of the process is empty.
    @Override
    public OutputStream getOutputStream() {
        return OutputStream.nullOutputStream();
    }

    @Override
    public InputStream getInputStream() {
        return out;
    }

    @Override
    public InputStream getErrorStream() {
        return err;
    }

    @Override
    public int waitFor() throws InterruptedException {
        try {
            return status.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("an exit status is never a failure", e);
        }
    }

    @Override
    public int exitValue() {
        if (!status.isDone()) {
            throw new IllegalThreadStateException("process has not exited");
        }
        return status.join();
    }

    @Override
    public CompletableFuture<Process> onExit() {
        return status.thenApply(_ -> this);
    }

    /// Kills it: a single process cannot be terminated in any other way. See `HostAgent.signal`.
    @Override
    public void destroy() {
        commandSender.accept(new AgentMessage.Kill(number));
    }
}
