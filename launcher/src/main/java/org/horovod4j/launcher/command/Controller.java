package org.horovod4j.launcher.command;

import java.util.List;

/// What starts the processes of a job.
public sealed interface Controller {
    /// The launcher itself, locally and through ssh on other hosts.
    record BuiltIn() implements Controller {}

    /// `mpirun`, which the launcher runs.
    ///
    /// @param arguments the user's arguments for its command line
    /// @param tcpOnly whether MPI uses only TCP
    record Mpi(List<String> arguments, List<String> bindingArguments, boolean tcpOnly)
            implements Controller {
        public Mpi {
            arguments = List.copyOf(arguments);
            bindingArguments = List.copyOf(bindingArguments);
        }
    }
}
