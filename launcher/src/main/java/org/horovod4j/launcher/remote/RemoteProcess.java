package org.horovod4j.launcher.remote;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/// A process on a remote host, as a [Process].
final class RemoteProcess extends Process {
    /// The exit code of a process whose host is lost: that of ssh for a broken connection.
    static final int LOST = 255;

    private final int number;
    private final long pid;
    private final RemoteStream out;
    private final RemoteStream err;
    private final CompletableFuture<Integer> status;
    private final Runnable kill;

    /// @param number identifies it in messages between launcher and agent
    RemoteProcess(
            int number,
            long pid,
            RemoteStream out,
            RemoteStream err,
            CompletableFuture<Integer> status,
            Runnable kill) {
        this.number = number;
        this.pid = pid;
        this.out = out;
        this.err = err;
        this.status = status;
        this.kill = kill;
    }

    int number() {
        return number;
    }

    /// The process number on its host.
    @Override
    public long pid() {
        return pid;
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
    public boolean waitFor(long timeout, TimeUnit unit) throws InterruptedException {
        try {
            status.get(timeout, unit);
            return true;
        } catch (TimeoutException e) {
            return false;
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

    @Override
    public boolean isAlive() {
        return !status.isDone();
    }

    /// Kills it: a single process cannot be terminated in any other way. See `HostAgent.signal`.
    @Override
    public void destroy() {
        kill.run();
    }

    @Override
    public boolean supportsNormalTermination() {
        return false;
    }
}
