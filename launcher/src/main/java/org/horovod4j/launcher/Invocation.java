package org.horovod4j.launcher;

import org.horovod4j.launcher.plan.Host;

import java.util.List;
import java.util.Map;

/// What the user asked for.
sealed interface Invocation {
    /// Prints a text: help or the version.
    record Tell(String text) implements Invocation {}

    /// Runs a program.
    ///
    /// @param processes how many ranks
    /// @param hosts where they may run
    /// @param options the variables that flags set, for the job and its processes
    /// @param command the words of the program, at least one
    record Launch(
            int processes,
            List<Host> hosts,
            boolean verbose,
            Map<String, String> options,
            List<String> command)
            implements Invocation {
        public Launch {
            hosts = List.copyOf(hosts);
            options = Map.copyOf(options);
            command = List.copyOf(command);
        }
    }
}
