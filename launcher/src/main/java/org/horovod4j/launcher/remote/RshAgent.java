package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;

import java.util.ArrayList;
import java.util.List;

/// A program in place of ssh that takes a host and a command, such as a script around `kubectl
/// exec`.
///
/// @param program with its own arguments, if the user gave some
record RshAgent(List<String> program) implements RemoteShell {
    RshAgent {
        program = List.copyOf(program);
    }

    @Override
    public String name() {
        return program.getFirst();
    }

    @Override
    public List<String> commandLine(Host host, RemoteHostSettings job, String command)
            throws HostNotReadyException {
        if (!host.login().equals(Login.DEFAULT)) {
            throw new HostNotReadyException(
                    """
                    a user, port or key cannot be passed to %s, which takes only a host and a \
                    command. Remove them, or unset %s to use ssh."""
                            .formatted(name(), VARIABLE));
        }
        List<String> words = new ArrayList<>(program);
        words.addAll(List.of(host.name(), command));
        return words;
    }

    @Override
    public String explain(Host host, SshErrors complaints, String ending) {
        String last = complaints.lastLine();
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
