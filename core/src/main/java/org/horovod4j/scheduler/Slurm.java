package org.horovod4j.scheduler;

import org.horovod4j.spi.RankAndSize;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Optional;

/// A task of a step that `srun` has started.
///
/// Most variables are also set in batch scripts and in the shell of `salloc`. There they describe
/// the allocation and not this process: a program that is started there is alone.
final class Slurm {
    static final String RANK = "SLURM_PROCID";
    private static final String SIZE = "SLURM_STEP_NUM_TASKS";
    private static final String JOB = "SLURM_JOB_ID";
    private static final String STEP = "SLURM_STEP_ID";
    private static final String NODES = "SLURM_STEP_NODELIST";

    /// Steps that run no program: batch script, prologue, shell. Slurm numbers them downwards from
    /// the largest number of 32 bits.
    private static final long FIRST_SPECIAL_STEP = 0xFFFF_FFF0L;

    private Slurm() {}

    /// @param self a process of the task
    static Optional<SchedulerAssignment> find(
            SchedulerVariables schedulerVariables, ProcessHandle self) {
        if (!isInStep(schedulerVariables, self)) {
            return Optional.empty();
        }
        return schedulerVariables
                .pair(RANK, SIZE)
                .map(
                        world ->
                                new SchedulerAssignment(
                                        SchedulerAssignment.origin(RANK, SIZE)
                                                + terminal(schedulerVariables, world),
                                        world,
                                        local(schedulerVariables).orElse(null),
                                        schedulerVariables.find("SLURMD_NODENAME").orElse(null),
                                        job(schedulerVariables),
                                        firstHost(schedulerVariables).orElse(null)));
    }

    /// With a terminal, one task of the step has the shell and the shells of the others have ended.
    /// So a program that is started in the shell waits for ranks that never join.
    private static String terminal(SchedulerVariables schedulerVariables, RankAndSize world) {
        return world.size() > 1 && schedulerVariables.find("SLURM_PTY_PORT").isPresent()
                ? ", in the terminal of one task of several: leave it and"
                        + " use srun without --pty, or ask it for one task (-n 1)"
                : "";
    }

    private static boolean isInStep(SchedulerVariables schedulerVariables, ProcessHandle self) {
        return schedulerVariables.find(STEP).filter(Slurm::isOrdinary).isPresent()
                && isOwn(schedulerVariables, SlurmStepDaemon.ancestorOf(self));
    }

    private static boolean isOrdinary(String step) {
        return step.matches("\\d{1,10}") && Long.parseLong(step) < FIRST_SPECIAL_STEP;
    }

    /// Whether the variables of the step belong to this process. A batch script that was submitted
    /// from inside a step inherits them.
    ///
    /// @param daemon the daemon that started this process, which decides; empty when it is not
    ///     visible
    static boolean isOwn(SchedulerVariables schedulerVariables, Optional<SlurmStepDaemon> daemon) {
        if (daemon.filter(SlurmStepDaemon::isNotStep).isPresent()) {
            return false;
        }
        Optional<SlurmStepDaemon> named =
                schedulerVariables
                        .find(JOB)
                        .flatMap(
                                job ->
                                        schedulerVariables
                                                .find(STEP)
                                                .map(step -> new SlurmStepDaemon(job, step)));
        boolean isNamed = daemon.isPresent() && daemon.equals(named);
        return isNamed || looksOwn(schedulerVariables);
    }

    /// The task variables of a batch script are its own. They differ from those of the step that it
    /// inherits, unless both have one task on this host.
    private static boolean looksOwn(SchedulerVariables schedulerVariables) {
        List<String> localTasks =
                schedulerVariables
                        .find("SLURM_GTIDS")
                        .map(ids -> List.of(ids.split(",")))
                        .orElse(List.of());
        if (!localTasks.isEmpty()
                && (!localTasks.contains(schedulerVariables.find(RANK).orElse(""))
                        || tasksHere(schedulerVariables)
                                .filter(count -> count != localTasks.size())
                                .isPresent())) {
            return false;
        }
        return localTasks.size() > 1 || countsAgree(schedulerVariables);
    }

    /// False after `srun --preserve-env`, which passes the allocation's number of tasks. A batch
    /// script is a single task, so several tasks on this host prove a step anyway.
    private static boolean countsAgree(SchedulerVariables schedulerVariables) {
        Optional<String> tasks = schedulerVariables.find("SLURM_NTASKS");
        return tasks.isEmpty() || tasks.equals(schedulerVariables.find(SIZE));
    }

    private static Optional<RankAndSize> local(SchedulerVariables schedulerVariables) {
        return schedulerVariables
                .integer("SLURM_LOCALID")
                .flatMap(
                        rank ->
                                tasksHere(schedulerVariables)
                                        .filter(size -> rank < size)
                                        .map(size -> new RankAndSize(rank, size)));
    }

    private static Optional<Integer> tasksHere(SchedulerVariables schedulerVariables) {
        return schedulerVariables
                .find("SLURM_STEP_TASKS_PER_NODE")
                .map(SlurmNodeList::counts)
                .flatMap(
                        counts ->
                                schedulerVariables
                                        .integer("SLURM_NODEID")
                                        .filter(node -> node < counts.size())
                                        .map(counts::get));
    }

    /// The restart count is part of the name: a requeued job keeps its number, and its steps start
    /// again from 0.
    private static @Nullable String job(SchedulerVariables schedulerVariables) {
        return schedulerVariables
                .find(JOB)
                .map(
                        job ->
                                "slurm-%s.%s.%s"
                                        .formatted(
                                                job,
                                                schedulerVariables.find(STEP).orElseThrow(),
                                                schedulerVariables
                                                        .find("SLURM_RESTART_COUNT")
                                                        .orElse("0")))
                .orElse(null);
    }

    private static Optional<String> firstHost(SchedulerVariables schedulerVariables) {
        return schedulerVariables.find(NODES).map(nodes -> SlurmNodeList.names(nodes).getFirst());
    }
}
