package org.horovod4j.launcher;

import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.remote.RemoteHostSettings;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/// Everything that is known about a launch before anything is started.
///
/// @param environment the variables of the launcher itself
record LaunchContext(
        LauncherConsole launcherConsole,
        Invocation.Launch launch,
        JobSettings settings,
        Map<String, String> environment) {
    /// Rejects, once and before anything is started, option values that every process would reject.
    /// Options without a flag are skipped: the launcher sets them for each process.
    ///
    /// @param variables the environment of the processes
    /// @throws org.horovod4j.ConfigurationException when a value is not allowed
    static void checkOptions(Map<String, String> variables) {
        Environment options = new Environment(variables);
        for (Option<?> option : Options.all()) {
            if (!option.flags().isEmpty()) {
                var _ = options.find(option); // throws when the value is not allowed
            }
        }
    }

    boolean verbose() {
        return launch.outputSettings().verbose();
    }

    /// No hosts yet; [Hosts#add] makes them ready.
    ///
    /// @param cancellation when complete, hosts that are not ready yet count as not ready
    /// @throws org.horovod4j.ConfigurationException when a file that hosts get a copy of cannot be
    ///     read
    Hosts newHosts(CompletionStage<?> cancellation) {
        return new Hosts(
                new RemoteHostSettings(
                        settings.jobVariable(),
                        settings.heartbeatTimeout(),
                        settings.startTimeout(),
                        Path.of("").toAbsolutePath(),
                        launch.remoteSetup().java(),
                        launch.remoteSetup().copies(),
                        environment),
                launch.commands(),
                ClassArchives.of(launch.mergedWith(environment), settings.jobVariable()),
                cancellation,
                launcherConsole::printMessage);
    }

    /// Where the launcher listens, at any free port. Other machines cannot reach a job that stays on
    /// this one. Ranks of this machine always use loopback.
    static List<InetSocketAddress> bindAddresses(JobSettings settings, boolean anyRemote) {
        LocalAddresses loopback = LocalAddresses.loopback();
        LocalAddresses chosen =
                anyRemote
                        ? LocalAddresses.ofInterfacesOrAll(settings.networkInterfaces())
                        : loopback;
        List<InetSocketAddress> binds = chosen.bindAddresses(0);
        return binds.getFirst().getAddress().isAnyLocalAddress()
                ? binds
                : Stream.concat(binds.stream(), loopback.withPort(0).stream()).distinct().toList();
    }

    /// The variables of the processes.
    ///
    /// @param port of the rendezvous server
    JobVariables variables(int port, boolean anyRemote, Hosts hosts) {
        return new JobVariables(
                settings,
                LauncherAddress.of(port, anyRemote, settings.networkInterfaces()),
                launch.options(),
                ComputeThreads.of(hosts::processors, launch.mergedWith(environment)),
                gpuAssignment(hosts));
    }

    /// The GPUs of the processes.
    GpuAssignment gpuAssignment(Hosts hosts) {
        return GpuAssignment.of(hosts::gpus, launch.mergedWith(environment));
    }
}
