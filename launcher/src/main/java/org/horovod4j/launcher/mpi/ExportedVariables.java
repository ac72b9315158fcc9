package org.horovod4j.launcher.mpi;

import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/// Which variables of the launcher the ranks get: all except those with a wrong meaning there.
final class ExportedVariables {
    /// Variables that describe this process if it is a rank itself. `mpirun` sets its own for its
    /// ranks.
    static final List<Option<?>> RANK_VARIABLES =
            List.of(
                    Options.RANK,
                    Options.SIZE,
                    Options.LOCAL_RANK,
                    Options.LOCAL_SIZE,
                    Options.CROSS_RANK,
                    Options.CROSS_SIZE,
                    Options.HOSTNAME);

    /// Other names belong to bash functions, which `mpirun` misinterprets.
    private static final Pattern NAME = Pattern.compile("[A-Za-z_]\\w*");

    /// Variables of the shell, of this host, or set by `mpirun` for each rank.
    private static final Pattern EXCLUDED =
            Pattern.compile(
                    "_|OLDPWD|PWD|SHLVL|HOSTNAME|.*CUDA_VISIBLE_DEVICES|BASH_FUNC_.*"
                            + "|OMPI_COMM_.*|OMPI_MCA_(ess|orte|pmix).*|PMIX_.*|PMI_.*|HYD._.*"
                            + "|MPI_LOCAL.*");

    private ExportedVariables() {}

    /// The names of the exported variables, sorted.
    ///
    /// @param job the variables that the job adds to the environment
    static Set<String> names(Map<String, String> environment, Map<String, String> job) {
        Set<String> names = new TreeSet<>(environment.keySet());
        names.removeIf(name -> !NAME.matcher(name).matches() || EXCLUDED.matcher(name).matches());
        names.addAll(job.keySet());
        RANK_VARIABLES.forEach(option -> names.remove(option.variable()));
        return names;
    }
}
