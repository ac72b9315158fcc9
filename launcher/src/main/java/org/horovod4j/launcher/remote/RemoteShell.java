package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;

import java.util.List;
import java.util.Map;

/// The program by which a command runs on another host.
sealed interface RemoteShell permits Ssh, RshAgent {
    /// As for Open MPI: Kubernetes operators set it for hosts without an sshd.
    String VARIABLE = "OMPI_MCA_plm_rsh_agent";

    /// The one that a launcher with this environment uses.
    ///
    /// Open MPI takes several, with colons between them; the first counts here.
    static RemoteShell of(Map<String, String> environment) {
        String first = environment.getOrDefault(VARIABLE, "").split(":", 2)[0].strip();
        return first.isEmpty() || first.equals(Ssh.NAME)
                ? new Ssh()
                : new RshAgent(List.of(first.split("\\s+")));
    }

    /// As messages call it.
    String name();

    /// The command line that runs `command` on a host.
    ///
    /// @throws HostNotReadyException when it cannot log in there as it should
    List<String> commandLine(Host host, RemoteHostSettings job, String command)
            throws HostNotReadyException;

    /// Why a host cannot be used, and what to do about it.
    ///
    /// @param ending how the program ended
    String explain(Host host, SshErrors complaints, String ending);
}
