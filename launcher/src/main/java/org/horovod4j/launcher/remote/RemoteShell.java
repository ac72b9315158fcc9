package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;

import java.util.List;
import java.util.Map;

/// The program that runs a command on another host.
sealed interface RemoteShell permits Ssh, RshAgent {
    /// The same variable as for Open MPI. Kubernetes operators set it for hosts without an sshd.
    String VARIABLE = "OMPI_MCA_plm_rsh_agent";

    /// The shell for a launcher with this environment.
    ///
    /// Open MPI accepts several, separated by colons. Here the first counts.
    static RemoteShell of(Map<String, String> environment) {
        String first = environment.getOrDefault(VARIABLE, "").split(":", 2)[0].strip();
        return first.isEmpty() || first.equals(Ssh.NAME)
                ? new Ssh()
                : new RshAgent(List.of(first.split("\\s+")));
    }

    /// The name for messages.
    String name();

    /// The command line that runs `command` on a host.
    ///
    /// @throws HostNotReadyException when the host's login settings are not supported
    List<String> commandLine(Host host, RemoteHostSettings job, String command)
            throws HostNotReadyException;

    /// Why a host cannot be used, and what to do about it.
    ///
    /// @param ending how the program ended
    String explain(Host host, SshErrors complaints, String ending);
}
