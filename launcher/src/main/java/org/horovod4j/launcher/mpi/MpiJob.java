package org.horovod4j.launcher.mpi;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;

/// A job for `mpirun`.
///
/// @param processes the number of ranks
/// @param hosts the hosts with ranks; the slots of each are its number of ranks
/// @param programs the command line of each program; all ranks finish one program before any starts
///     the next
/// @param arguments the user's arguments for `mpirun`
/// @param bindingArguments how it binds processes to cores; empty for no binding
/// @param tcpOnly whether MPI, if the program itself uses it, uses only TCP
/// @param interfaces the network interfaces to use; empty for all
/// @param folder where the output of each rank is also written; null for nowhere
/// @param timestamps whether each line of output has a timestamp
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
        hosts = HostPlan.usedHosts(hosts, processes);
        programs = programs.stream().map(List::copyOf).toList();
        arguments = List.copyOf(arguments);
        bindingArguments = List.copyOf(bindingArguments);
        interfaces = List.copyOf(interfaces);
    }
}
