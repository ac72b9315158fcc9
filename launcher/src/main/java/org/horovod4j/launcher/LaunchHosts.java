package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.function.FunctionServerAddresses;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostFile;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.option.Options;
import org.jspecify.annotations.Nullable;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// The hosts of a job that a program launches, and how they reach this machine.
final class LaunchHosts {
    private final int processes;
    private @Nullable String hosts;
    private @Nullable Path hostFile;
    private @Nullable Integer sshPort;
    private @Nullable Path sshIdentity;
    private List<String> networkInterfaces = List.of();

    LaunchHosts(int processes) {
        this.processes = processes;
    }

    void hosts(String list) {
        hosts = list;
        checkOneSource();
    }

    void hostFile(Path file) {
        hostFile = file;
        checkOneSource();
    }

    void sshPort(int port) {
        if (port < 1 || port > 65_535) {
            throw new ConfigurationException(
                    "sshPort(%d): a port is a number from 1 to 65535.".formatted(port));
        }
        sshPort = port;
    }

    void sshIdentity(Path file) {
        if (!Files.isReadable(file)) {
            throw new ConfigurationException(
                    "sshIdentity(%s): there is no such file, or it may not be read. Name a private"
                                    .formatted(file)
                            + " key of yours.");
        }
        sshIdentity = file;
    }

    void networkInterfaces(List<String> names) {
        networkInterfaces = List.copyOf(names);
    }

    /// The hosts, with the way to log in to each.
    List<Host> hosts() {
        Login login = new Login(null, sshPort, sshIdentity);
        return named().stream().map(host -> host.withDefaults(login)).toList();
    }

    /// The variables that the processes get.
    Map<String, String> variables() {
        return networkInterfaces.isEmpty()
                ? Map.of()
                : Map.of(
                        Options.NETWORK_INTERFACES.variable(), String.join(",", networkInterfaces));
    }

    /// Where this program listens. Other machines cannot reach a job that stays on this one.
    InetSocketAddress bind() {
        return isLocal()
                ? new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)
                : new InetSocketAddress(0);
    }

    /// Where the processes connect to this program.
    String functionServerAddresses(int port) {
        return isLocal()
                ? FunctionServerAddresses.local(port)
                : FunctionServerAddresses.reachable(port, networkInterfaces);
    }

    private boolean isLocal() {
        return named().stream().allMatch(host -> LocalHost.isNamed(host.name()));
    }

    private void checkOneSource() {
        if (hosts != null && hostFile != null) {
            throw new ConfigurationException(
                    "hosts(\"%s\") and hostFile(%s) both say where to run. Leave one out."
                            .formatted(hosts, hostFile));
        }
    }

    private List<Host> named() {
        if (hostFile != null) {
            return HostFile.read(hostFile);
        }
        return Host.list(hosts == null ? "localhost:" + processes : hosts);
    }
}
