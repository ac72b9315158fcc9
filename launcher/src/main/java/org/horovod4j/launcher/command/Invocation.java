package org.horovod4j.launcher.command;

import org.horovod4j.launcher.plan.Host;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// What the user wants `horovodrun` to do.
public sealed interface Invocation {
    /// Prints a text: help, the version or a script.
    record Print(String text) implements Invocation {}

    /// Reports what this installation supports.
    ///
    /// @param command a program whose class path is examined; may be empty
    record CheckBuild(List<String> command) implements Invocation {
        public CheckBuild {
            command = List.copyOf(command);
        }
    }

    /// Runs one or more programs in sequence.
    ///
    /// @param processes the number of ranks
    /// @param hosts the hosts on which they may run
    /// @param options the environment variables from flags and files
    /// @param commands the command line of each program, none of them empty; all ranks finish one
    ///     program before any starts the next
    /// @param elasticity the elastic settings; empty if the job is not elastic
    record Launch(
            int processes,
            List<Host> hosts,
            Controller controller,
            RemoteSetup remoteSetup,
            OutputSettings outputSettings,
            Map<String, String> options,
            List<List<String>> commands,
            Optional<Elasticity> elasticity)
            implements Invocation {
        /// A launch that is not elastic.
        public Launch(
                int processes,
                List<Host> hosts,
                Controller controller,
                RemoteSetup remoteSetup,
                OutputSettings outputSettings,
                Map<String, String> options,
                List<List<String>> commands) {
            this(
                    processes,
                    hosts,
                    controller,
                    remoteSetup,
                    outputSettings,
                    options,
                    commands,
                    Optional.empty());
        }

        public Launch {
            hosts = List.copyOf(hosts);
            options = Map.copyOf(options);
            commands = commands.stream().map(List::copyOf).toList();
        }

        /// A copy without these variables.
        Launch without(Collection<String> variables) {
            Map<String, String> kept = new HashMap<>(options);
            kept.keySet().removeAll(variables);
            return new Launch(
                    processes,
                    hosts,
                    controller,
                    remoteSetup,
                    outputSettings,
                    kept,
                    commands,
                    elasticity);
        }

        /// The environment of the processes, given that of the launcher.
        public Map<String, String> mergedWith(Map<String, String> environment) {
            Map<String, String> variables = new HashMap<>(environment);
            variables.putAll(options);
            return variables;
        }
    }
}
