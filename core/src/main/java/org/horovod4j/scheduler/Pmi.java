package org.horovod4j.scheduler;

import org.horovod4j.spi.RankAndSize;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// The process manager interface (PMI) of MPICH's launcher Hydra, and of the MPIs based on it, such
/// as Intel MPI.
final class Pmi {
    static final String RANK = "PMI_RANK";
    private static final String SIZE = "PMI_SIZE";
    private static final String LOCAL_RANK = "MPI_LOCALRANKID";
    private static final String LOCAL_SIZE = "MPI_LOCALNRANKS";

    /// With `-pmi-port`, Hydra puts the rank here, and does not set the size.
    private static final String PORT_RANK = "PMI_ID";

    /// On each host, Hydra starts a proxy that starts the processes and connects to `mpirun` at
    /// this address. No variable identifies the run, but this address is the same on all its hosts,
    /// and different for every other run.
    private static final String CONTROL_PORT = "--control-port";

    /// The same for Intel MPI from 2019 on. With many hosts its proxies form a tree, and only those
    /// of the first level connect to `mpirun` itself.
    private static final String UPSTREAM_HOST = "--upstream-host";

    private static final String UPSTREAM_PORT = "--upstream-port";
    private static final String TREE_LEVEL = "--tree-level";

    private Pmi() {}

    static Optional<SchedulerAssignment> find(
            SchedulerVariables schedulerVariables, ProcessHandle self) {
        String rankName = schedulerVariables.find(RANK).isPresent() ? RANK : PORT_RANK;
        Optional<RankAndSize> world = schedulerVariables.pair(rankName, SIZE);
        if (world.isEmpty()) {
            return Optional.empty();
        }
        Optional<SchedulerAssignment> step = Slurm.find(schedulerVariables, self);
        if (step.isPresent() && schedulerVariables.find(LOCAL_RANK).isEmpty()) {
            // srun --mpi=pmi2, whose own variables tell more about the hosts. Or a step that was
            // started from inside such a step and inherited its PMI variables.
            return step;
        }
        return Optional.of(
                new SchedulerAssignment(
                        SchedulerAssignment.origin(rankName, SIZE),
                        world.get(),
                        schedulerVariables
                                .pair(LOCAL_RANK, LOCAL_SIZE)
                                .or(
                                        () ->
                                                schedulerVariables.pair(
                                                        "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"))
                                .orElse(null),
                        null,
                        job(self),
                        null));
    }

    private static @Nullable String job(ProcessHandle self) {
        return Stream.iterate(
                        self.parent(),
                        Optional::isPresent,
                        each -> each.flatMap(ProcessHandle::parent))
                .flatMap(each -> each.flatMap(it -> it.info().arguments()).stream())
                .flatMap(arguments -> runAddress(List.of(arguments)).stream())
                .findFirst()
                .map(address -> "hydra-" + address)
                .orElse(null);
    }

    /// The address that identifies a run, if this is the command line of one of its proxies.
    static Optional<String> runAddress(List<String> words) {
        Optional<String> intel =
                valueAfter(TREE_LEVEL, words)
                        .filter("1"::equals)
                        .flatMap(_ -> valueAfter(UPSTREAM_HOST, words))
                        .flatMap(
                                host ->
                                        valueAfter(UPSTREAM_PORT, words)
                                                .map(port -> host + ":" + port));
        return valueAfter(CONTROL_PORT, words).or(() -> intel);
    }

    private static Optional<String> valueAfter(String flag, List<String> words) {
        int at = words.indexOf(flag);
        return at < 0 || at + 1 == words.size() ? Optional.empty() : Optional.of(words.get(at + 1));
    }
}
