package org.horovod4j.launcher.command;

import org.horovod4j.launcher.plan.Host;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// What the user asked for.
public sealed interface Invocation {
    /// Prints a text: help, the version or a script.
    record Print(String text) implements Invocation {}

    /// Tells what this installation can do.
    ///
    /// @param command a program whose class path is looked at; may be empty
    record CheckBuild(List<String> command) implements Invocation {
        public CheckBuild {
            command = List.copyOf(command);
        }
    }

    /// Runs a program, or several one after the other.
    ///
    /// @param processes how many ranks
    /// @param hosts where they may run
    /// @param options the variables that flags and files set, for the job and its processes
    /// @param commands the words of each program, at least one of each; all ranks end one before
    ///     any starts the next
    /// @param elasticity how its processes may come and go, if they may
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
        /// A job that keeps its processes.
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

        /// The same with none of these variables set.
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

        /// What its processes find in their environment when this is the launcher's.
        public Map<String, String> mergedWith(Map<String, String> environment) {
            Map<String, String> variables = new HashMap<>(environment);
            variables.putAll(options);
            return variables;
        }
    }
}
