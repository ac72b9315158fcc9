package org.horovod4j.launcher.remote;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.ExitStatus;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/// A running `ssh` or its replacement, and its error messages.
final class SshProcess {
    /// How long the last error messages may take after the output of ssh has ended.
    private static final Duration ERROR_OUTPUT_TIMEOUT = Duration.ofSeconds(1);

    private final RemoteShell shell;
    private final Host host;
    private final Process ssh;
    private final String route;
    private final SshErrors errors = new SshErrors();
    private final Thread errorReader;

    private SshProcess(RemoteShell shell, Host host, Process ssh, String route) {
        this.shell = shell;
        this.host = host;
        this.ssh = ssh;
        this.route = route;
        this.errorReader = Thread.ofPlatform().daemon().name("hvd-ssh").start(this::readErrors);
    }

    static SshProcess open(Host host, RemoteHostSettings job, String command)
            throws HostNotReadyException {
        RemoteShell shell = RemoteShell.of(job.environment());
        // In its own session, so that Ctrl-C at the terminal ends the job and not the connection.
        List<String> words = new ArrayList<>(List.of("setsid"));
        List<String> login = shell.commandLine(host, job, command);
        words.addAll(login);
        String route = String.join(" ", login.subList(0, login.size() - 1));
        try {
            return new SshProcess(shell, host, new ProcessBuilder(words).start(), route);
        } catch (IOException e) {
            throw new HostNotReadyException(
                    "cannot run 'setsid %s' here: %s. Install openssh-client and util-linux."
                            .formatted(shell.name(), e.getMessage()),
                    e);
        }
    }

    InputStream input() {
        return ssh.getInputStream();
    }

    OutputStream output() {
        return ssh.getOutputStream();
    }

    /// Why it ended before the host was ready. Call this when its output has ended.
    String whyNotReady() {
        awaitErrorOutput();
        return shell.explain(host, errors, exitStatus());
    }

    /// Whether the host answered but rejected the connection. Call this after [#whyNotReady].
    boolean wasRejected() {
        return errors.isRejection();
    }

    /// How it ended while the job was running. Call this when its output has ended.
    String howEnded() {
        awaitErrorOutput();
        String last = errors.lastLine();
        return "%s ended (%s)%s"
                .formatted(shell.name(), exitStatus(), last.isEmpty() ? "" : ": " + last);
    }

    /// Kills its children too: the connection of a script is a child of it.
    void kill() {
        List<ProcessHandle> started = ssh.descendants().toList();
        ssh.destroyForcibly();
        started.forEach(ProcessHandle::destroyForcibly);
    }

    /// Waits for its end. Kills it if that takes too long.
    void awaitEnd(Duration limit) throws InterruptedException {
        if (!ssh.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
            kill();
        }
    }

    private String exitStatus() {
        return ssh.isAlive() ? "still running" : new ExitStatus(ssh.exitValue()).toString();
    }

    private void awaitErrorOutput() {
        try {
            awaitEnd(ERROR_OUTPUT_TIMEOUT);
            errorReader.join(ERROR_OUTPUT_TIMEOUT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void readErrors() {
        try (BufferedReader lines = ssh.errorReader(UTF_8)) {
            lines.lines().forEach(errors::add);
        } catch (IOException | UncheckedIOException e) {
            System.getLogger(SshProcess.class.getName())
                    .log(Level.DEBUG, "Reading the error messages of ssh failed", e);
        }
    }

    /// Its command line, without the remote command.
    @Override
    public String toString() {
        return route;
    }
}
