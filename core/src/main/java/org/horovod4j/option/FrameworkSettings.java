package org.horovod4j.option;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.ProcessSet;

import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Settings for adapters of frameworks, as `init` has read them.
///
/// @param gradientHooks whether a framework reports each gradient during backward
/// @param tensorFlowKernels how collectives run in a graph of TensorFlow
/// @param parameterCheckInterval the steps between two checks that all ranks have the same parameters;
///     0 for no check
/// @param openMpThreads the first number of `OMP_NUM_THREADS`, if it is valid
/// @param ownsGpus whether this rank sees only GPUs that no other rank of its host sees
/// @param sharesGpus whether ranks may share a GPU
public record FrameworkSettings(
        HookChoice gradientHooks,
        GraphKernels tensorFlowKernels,
        int parameterCheckInterval,
        OptionalInt openMpThreads,
        boolean ownsGpus,
        boolean sharesGpus) {
    /// `OMP_NUM_THREADS` has a number for each level of nested parallel loops; the first one counts.
    private static final Pattern OPENMP_THREADS = Pattern.compile("\\s*([0-9]{1,9})\\s*(,.*)?");

    /// The settings when no variable is set.
    public static final FrameworkSettings DEFAULT = from(new Environment(Map.of()));

    /// A communicator or process set that knows the settings of its rank.
    public interface Source {
        FrameworkSettings frameworkSettings();
    }

    /// The settings that the rank of a communicator was started with.
    public static FrameworkSettings of(Communicator communicator) {
        return communicator instanceof Source source ? source.frameworkSettings() : DEFAULT;
    }

    /// The settings of this rank, which need not be in the process set.
    public static FrameworkSettings of(ProcessSet processSet) {
        if (processSet instanceof Source source) {
            return source.frameworkSettings();
        }
        return processSet.isIncluded() ? of(processSet.communicator()) : DEFAULT;
    }

    /// Reads the settings.
    ///
    /// @throws ConfigurationException when a value is not allowed
    public static FrameworkSettings from(Environment environment) {
        return new FrameworkSettings(
                environment.get(Options.GRADIENT_HOOKS),
                environment.get(Options.TENSORFLOW_KERNELS),
                environment.get(Options.PARAMETER_CHECK_INTERVAL),
                openMpThreads(environment.variable("OMP_NUM_THREADS").orElse("")),
                ownsGpus(environment),
                environment.get(Options.SHARE_GPUS));
    }

    /// Launchers such as that of Slurm show each rank its GPU by `CUDA_VISIBLE_DEVICES`. `horovodrun`
    /// sets the option to 0 if all ranks inherit the same list. Those of MPI pass the list of their own
    /// process to all ranks, so it says nothing there.
    private static boolean ownsGpus(Environment environment) {
        return environment
                .find(Options.GPUS_PER_RANK)
                .map(gpus -> gpus > 0)
                .orElseGet(
                        () ->
                                !isStartedByMpi(environment)
                                        && environment
                                                .variable("CUDA_VISIBLE_DEVICES")
                                                .filter(list -> !list.contains(","))
                                                .isPresent());
    }

    /// Slurm sets the variable of PMI too.
    private static boolean isStartedByMpi(Environment environment) {
        return environment.variable("OMPI_COMM_WORLD_RANK").isPresent()
                || (environment.variable("PMI_RANK").isPresent()
                        && environment.variable("SLURM_PROCID").isEmpty());
    }

    /// OpenMP ignores a value that it does not understand, and so does this.
    private static OptionalInt openMpThreads(String text) {
        Matcher matcher = OPENMP_THREADS.matcher(text);
        int threads = matcher.matches() ? Integer.parseInt(matcher.group(1)) : 0;
        return threads > 0 ? OptionalInt.of(threads) : OptionalInt.empty();
    }
}
