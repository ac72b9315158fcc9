package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// The `ssh` on the `PATH`, with the user's own configuration.
record Ssh() implements RemoteShell {
    static final String NAME = "ssh";

    /// How long ssh waits for a host to answer.
    private static final Duration CONNECT = Duration.ofSeconds(10);

    private static final int ALIVE_CHECKS = 3;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String explain(Host host, SshErrors complaints, String ending) {
        return complaints.explain(host, ending);
    }

    @Override
    public List<String> commandLine(Host host, RemoteHostSettings job, String command) {
        List<String> words = new ArrayList<>(List.of(NAME, "-T", "-a", "-x"));
        // No user can answer a prompt.
        option(words, "BatchMode", "yes");
        option(words, "ConnectTimeout", wholeSeconds(least(CONNECT, job.startTimeout())));
        // Ends an ssh that outlives the launcher on a dead connection. The agent has its own
        // heartbeats.
        option(
                words,
                "ServerAliveInterval",
                wholeSeconds(job.heartbeatTimeout().dividedBy(ALIVE_CHECKS)));
        option(words, "ServerAliveCountMax", Integer.toString(ALIVE_CHECKS));
        // A connection shared with other sessions would not end with this ssh.
        option(words, "ControlPath", "none");
        // Ports that the user forwards for interactive work would conflict at the second host.
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

    private static String wholeSeconds(Duration duration) {
        return Long.toString(Math.max(1, duration.toSeconds()));
    }

    private static Duration least(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
