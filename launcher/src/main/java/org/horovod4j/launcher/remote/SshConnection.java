package org.horovod4j.launcher.remote;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.launcher.process.Ending;

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

/// A running `ssh`, and what it complains of.
final class SshConnection {
    /// How long ssh itself waits for a host to answer at all.
    private static final Duration CONNECT = Duration.ofSeconds(10);

    /// How long the last words of an ssh may take whose output has ended.
    private static final Duration LAST_WORDS = Duration.ofSeconds(1);

    private static final int ALIVE_CHECKS = 3;

    private final Host host;
    private final Process ssh;
    private final SshComplaints complaints = new SshComplaints();
    private final Thread listener;

    private SshConnection(Host host, Process ssh) {
        this.host = host;
        this.ssh = ssh;
        this.listener = Thread.ofPlatform().daemon().name("hvd-ssh").start(this::listen);
    }

    static SshConnection open(Host host, RemoteJob job, String command)
            throws HostNotReadyException {
        try {
            return new SshConnection(host, new ProcessBuilder(words(host, job, command)).start());
        } catch (IOException e) {
            throw new HostNotReadyException(
                    "cannot run 'setsid ssh' here: %s. Install openssh-client and util-linux."
                            .formatted(e.getMessage()),
                    e);
        }
    }

    /// In a session of its own, so that Ctrl-C at the terminal ends the job and not the connection.
    static List<String> words(Host host, RemoteJob job, String command) {
        List<String> words = new ArrayList<>(List.of("setsid", "ssh", "-T", "-a", "-x"));
        // Nobody is there to answer a question.
        option(words, "BatchMode", "yes");
        option(words, "ConnectTimeout", seconds(least(CONNECT, job.startTimeout())));
        // Ends an ssh that outlives the launcher on a dead connection; the agent watches for
        // itself.
        option(
                words,
                "ServerAliveInterval",
                seconds(job.heartbeatTimeout().dividedBy(ALIVE_CHECKS)));
        option(words, "ServerAliveCountMax", Integer.toString(ALIVE_CHECKS));
        // A connection shared with other sessions would neither end with this ssh nor be its own.
        option(words, "ControlPath", "none");
        // What a user forwards for interactive work would be taken already at the second host.
        option(words, "ClearAllForwardings", "yes");
        Login login = host.login();
        if (login.port() != null) {
            words.addAll(List.of("-p", login.port().toString()));
        }
        if (login.identityFile() != null) {
            words.addAll(List.of("-i", login.identityFile().toString()));
        }
        if (login.user() != null) {
            words.addAll(List.of("-l", login.user()));
        }
        words.addAll(List.of("--", host.name(), command));
        return words;
    }

    private static void option(List<String> words, String name, String value) {
        words.addAll(List.of("-o", name + "=" + value));
    }

    private static String seconds(Duration duration) {
        return Long.toString(Math.max(1, duration.toSeconds()));
    }

    private static Duration least(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    InputStream input() {
        return ssh.getInputStream();
    }

    OutputStream output() {
        return ssh.getOutputStream();
    }

    /// Why it ended before the host was ready. To be called once its output has ended.
    String whyNotReady() {
        awaitLastWords();
        return complaints.explain(host, ending());
    }

    /// How it ended while the job was running. To be called once its output has ended.
    String howEnded() {
        awaitLastWords();
        String last = complaints.last();
        return "ssh ended (%s)%s".formatted(ending(), last.isEmpty() ? "" : ": " + last);
    }

    void kill() {
        ssh.destroyForcibly();
    }

    /// Waits for its end, and kills it if that takes too long.
    void awaitEnd(Duration limit) throws InterruptedException {
        if (!ssh.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
            kill();
        }
    }

    private String ending() {
        return ssh.isAlive() ? "still running" : new Ending(ssh.exitValue()).toString();
    }

    private void awaitLastWords() {
        try {
            awaitEnd(LAST_WORDS);
            listener.join(LAST_WORDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void listen() {
        try (BufferedReader lines = ssh.errorReader(UTF_8)) {
            lines.lines().forEach(complaints::add);
        } catch (IOException | UncheckedIOException e) {
            System.getLogger(SshConnection.class.getName())
                    .log(Level.DEBUG, "The errors of ssh cannot be read any more", e);
        }
    }
}
