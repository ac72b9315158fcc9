package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// The program that runs a command on another host: the `ssh` on the `PATH`, with the user's own
/// configuration, or a program in its place that takes a host and a command, such as a script
/// around `kubectl exec`.
///
/// @param program with its own arguments, if the user gave some
record RemoteShell(List<String> program) {
    private static final RemoteShell SSH = new RemoteShell(List.of("ssh"));

    /// The same variable as for Open MPI. Kubernetes operators set it for hosts without an sshd.
    private static final String VARIABLE = "OMPI_MCA_plm_rsh_agent";

    /// How long ssh waits for a host to answer.
    private static final Duration CONNECT = Duration.ofSeconds(10);

    private static final int ALIVE_CHECKS = 3;

    RemoteShell {
        program = List.copyOf(program);
    }

    /// The shell for a launcher with this environment.
    ///
    /// Open MPI accepts several, separated by colons. Here the first counts.
    static RemoteShell of(Map<String, String> environment) {
        String first = environment.getOrDefault(VARIABLE, "").split(":", 2)[0].strip();
        return first.isEmpty() ? SSH : new RemoteShell(List.of(first.split("\\s+")));
    }

    /// The name for messages.
    String name() {
        return program.getFirst();
    }

    /// The command line that runs `command` on a host.
    ///
    /// @throws HostNotReadyException when the host's login settings are not supported
    List<String> commandLine(Host host, RemoteHostSettings job, String command)
            throws HostNotReadyException {
        List<String> words = new ArrayList<>(program);
        if (equals(SSH)) {
            words.addAll(sshOptions(job));
            words.addAll(host.login().sshOptions());
            words.add("--");
        } else if (!host.login().equals(Login.DEFAULT)) {
            throw new HostNotReadyException(
                    """
                    a user, port or key cannot be passed to %s, which takes only a host and a \
                    command. Remove them, or unset %s to use ssh."""
                            .formatted(name(), VARIABLE));
        }
        words.addAll(List.of(host.name(), command));
        return words;
    }

    private static List<String> sshOptions(RemoteHostSettings job) {
        List<String> words = new ArrayList<>(List.of("-T", "-a", "-x"));
        // No user can answer a prompt.
        option(words, "BatchMode", "yes");
        option(words, "ConnectTimeout", wholeSeconds(least(CONNECT, job.startTimeout())));
        // Ends an ssh that outlives the launcher on a dead connection. Takes longer than the
        // heartbeat timeout: the agent has its own heartbeats.
        Duration interval = job.heartbeatTimeout().dividedBy(ALIVE_CHECKS).plusMillis(999);
        option(words, "ServerAliveInterval", wholeSeconds(interval));
        option(words, "ServerAliveCountMax", Integer.toString(ALIVE_CHECKS));
        // A connection shared with other sessions would not end with this ssh.
        option(words, "ControlPath", "none");
        // Ports that the user forwards for interactive work would conflict at the second host.
        option(words, "ClearAllForwardings", "yes");
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

    /// Why a host cannot be used, and what to do about it.
    ///
    /// @param ending how the program ended
    String explain(Host host, SshErrors errors, String ending) {
        if (equals(SSH)) {
            return errors.explain(host, ending);
        }
        String last = errors.lastLine();
        return """
               %s, which %s names, ended (%s)%s. Let '%s %s cat' repeat what it reads first, as \
               with kubectl exec -i."""
                .formatted(
                        name(),
                        VARIABLE,
                        ending,
                        last.isEmpty() ? " without a message" : ": " + last,
                        String.join(" ", program),
                        host.name());
    }
}
