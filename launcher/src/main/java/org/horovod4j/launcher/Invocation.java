package org.horovod4j.launcher;

import org.horovod4j.launcher.plan.Host;

import java.util.List;

/// What the user asked for.
sealed interface Invocation {
    /// Prints a text: help or the version.
    record Tell(String text) implements Invocation {}

    /// Runs a program.
    ///
    /// @param processes how many ranks
    /// @param hosts where they may run
    /// @param command the words of the program, at least one
    record Launch(int processes, List<Host> hosts, boolean verbose, List<String> command)
            implements Invocation {
        public Launch {
            hosts = List.copyOf(hosts);
            command = List.copyOf(command);
        }
    }
}
