package org.horovod4j.launcher.mpi;

import org.horovod4j.launcher.plan.Host;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// What the user wants `mpirun` to start.
///
/// @param processes how many ranks
/// @param hosts those that get any, with as many slots as they get ranks
/// @param programs the words of each program, as they are run; all ranks end one before any starts
///     the next
/// @param arguments for `mpirun`, as the user gave them
/// @param bindingArguments how it binds processes to cores; empty for not at all
/// @param tcpOnly whether MPI, where the program itself uses it, is told to use TCP alone
/// @param interfaces the network interfaces to use; empty for all
/// @param folder where the output of each rank goes too; null for nowhere
/// @param timestamps whether each line of output carries the time
public record MpiJob(
        int processes,
        List<Host> hosts,
        List<List<String>> programs,
        List<String> arguments,
        List<String> bindingArguments,
        boolean tcpOnly,
        List<String> interfaces,
        @Nullable Path folder,
        boolean timestamps) {
    public MpiJob {
        hosts = usedHosts(hosts, processes);
        programs = programs.stream().map(List::copyOf).toList();
        arguments = List.copyOf(arguments);
        bindingArguments = List.copyOf(bindingArguments);
        interfaces = List.copyOf(interfaces);
    }

    private static List<Host> usedHosts(List<Host> hosts, int processes) {
        List<Host> used = new ArrayList<>();
        int left = processes;
        for (Host host : hosts) {
            if (left > 0) {
                int taken = Math.min(host.slots(), left);
                used.add(new Host(host.name(), taken, host.login()));
                left -= taken;
            }
        }
        return List.copyOf(used);
    }
}
