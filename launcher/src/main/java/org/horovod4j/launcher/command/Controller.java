package org.horovod4j.launcher.command;

import java.util.List;

/// Who starts the processes of a job.
public sealed interface Controller {
    /// The launcher itself: here, and through ssh on other hosts.
    record BuiltIn() implements Controller {}

    /// `mpirun`, which the launcher runs.
    ///
    /// @param arguments of the user's, added to its command line
    /// @param tcpOnly whether MPI is told to use TCP alone
    record Mpi(List<String> arguments, List<String> bindingArguments, boolean tcpOnly)
            implements Controller {
        public Mpi {
            arguments = List.copyOf(arguments);
            bindingArguments = List.copyOf(bindingArguments);
        }
    }
}
