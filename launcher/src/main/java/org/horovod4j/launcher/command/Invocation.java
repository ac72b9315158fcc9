package org.horovod4j.launcher.command;

import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
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
    /// @param hosts the hosts to examine; may be empty
    record CheckBuild(List<String> command, List<Host> hosts, RemoteSetup remoteSetup)
            implements Invocation {
        public CheckBuild {
            command = List.copyOf(command);
            hosts = List.copyOf(hosts);
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
    /// @param gpuDemand the GPUs that the job file asks for
    record Launch(
            int processes,
            List<Host> hosts,
            Controller controller,
            RemoteSetup remoteSetup,
            OutputSettings outputSettings,
            Map<String, String> options,
            List<List<String>> commands,
            Optional<Elasticity> elasticity,
            GpuDemand gpuDemand)
            implements Invocation {
        public Launch {
            hosts = List.copyOf(hosts);
            options = Map.copyOf(options);
            commands = commands.stream().map(List::copyOf).toList();
        }

        /// The environment of the processes, given that of the launcher.
        public Map<String, String> mergedWith(Map<String, String> environment) {
            Map<String, String> variables = new HashMap<>(environment);
            variables.putAll(options);
            return variables;
        }
    }

    /// What starts the processes of a job.
    sealed interface Controller {
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

        /// `spark-submit`, which the launcher runs. The program asks Spark for the ranks.
        ///
        /// @param executors how many Spark is asked for
        record Spark(SparkSettings settings, int executors) implements Controller {}
    }

    /// How remote hosts are set up for the program.
    ///
    /// @param java the `java` to run there; null for the same path as on this machine
    /// @param copies files and folders that each host gets a copy of, such as the jars of the
    ///     application; their paths in the command line are replaced by those of the copies
    record RemoteSetup(@Nullable String java, List<Path> copies) {
        public RemoteSetup {
            copies = List.copyOf(copies);
        }
    }

    /// The GPUs of a worker, and the processes that share them.
    ///
    /// @param perWorker 0 if the job does not say
    record GpuDemand(int perWorker, int processesPerWorker) {
        /// Stands for a job that does not say how many GPUs it needs.
        public static final GpuDemand NONE = new GpuDemand(0, 0);

        /// The GPUs that this number of processes needs.
        public int of(int processes) {
            return perWorker == 0 ? 0 : Math.ceilDiv(processes, processesPerWorker) * perWorker;
        }
    }

    /// The output of a job.
    ///
    /// @param verbose whether the launcher prints each of its steps
    /// @param folder where the output of each rank is also written; null for nowhere
    /// @param timestamps whether each line of output has a timestamp
    record OutputSettings(boolean verbose, @Nullable Path folder, boolean timestamps) {}

    /// The elastic settings of a job.
    ///
    /// @param script a command that prints the available hosts; null if the hosts are fixed
    /// @param slotsPerHost the slots of a host that the script prints without slots; null if it must
    ///     print them
    /// @param login how to log in to the discovered hosts
    record Elasticity(
            ElasticLimits elasticLimits,
            Cooldown cooldown,
            @Nullable String script,
            @Nullable Integer slotsPerHost,
            Login login) {}
}
