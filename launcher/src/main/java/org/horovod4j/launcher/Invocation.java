package org.horovod4j.launcher;

import org.horovod4j.launcher.plan.Host;

import java.util.List;
import java.util.Map;

/// What the user asked for.
sealed interface Invocation {
    /// Prints a text: help or the version.
    record Tell(String text) implements Invocation {}

    /// Runs a program, or several one after the other.
    ///
    /// @param processes how many ranks
    /// @param hosts where they may run
    /// @param options the variables that flags set, for the job and its processes
    /// @param commands the words of each program, at least one of each; all ranks end one before any
    ///     starts the next
    record Launch(
            int processes,
            List<Host> hosts,
            Controller controller,
            RemoteSide remoteSide,
            Reporting reporting,
            Map<String, String> options,
            List<List<String>> commands)
            implements Invocation {
        public Launch {
            hosts = List.copyOf(hosts);
            options = Map.copyOf(options);
            commands = commands.stream().map(List::copyOf).toList();
        }
    }
}
