package org.horovod4j.scheduler;

import org.horovod4j.scheduler.SchedulerAssignment.TaskRank;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Optional;

/// A task of a step that `srun` has started.
///
/// Most variables are set in batch scripts and in the shell of `salloc` too, where they tell of the
/// allocation and not of this process: a program that is started there is alone.
final class Slurm {
    static final String RANK = "SLURM_PROCID";
    private static final String SIZE = "SLURM_STEP_NUM_TASKS";
    private static final String JOB = "SLURM_JOB_ID";
    private static final String STEP = "SLURM_STEP_ID";
    private static final String NODES = "SLURM_STEP_NODELIST";

    /// Steps that are no run of a program: batch script, prologue, shell. Slurm numbers them
    /// downwards from the largest number of 32 bits.
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

    /// In the shell of such a step sits one task, and the shells of the others have found their
    /// input at its end: a program that is started there waits for ranks that do not come.
    private static String terminal(SchedulerVariables schedulerVariables, TaskRank world) {
        return world.size() > 1 && schedulerVariables.find("SLURM_PTY_PORT").isPresent()
                ? ", in a step with a terminal, where a shell is one task of several: leave it and"
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

    /// Whether the step's variables are this process's own. A batch script that was submitted from
    /// inside a step inherits them.
    ///
    /// @param daemon who has started this process, which settles it; nothing when that is not seen
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

    /// What is said of a batch script's tasks is its own, and differs from the step's that it inherits,
    /// unless both are of one task on this host.
    private static boolean looksOwn(SchedulerVariables schedulerVariables) {
        List<String> here =
                schedulerVariables
                        .find("SLURM_GTIDS")
                        .map(ids -> List.of(ids.split(",")))
                        .orElse(List.of());
        if (!here.isEmpty()
                && (!here.contains(schedulerVariables.find(RANK).orElse(""))
                        || tasksHere(schedulerVariables)
                                .filter(count -> count != here.size())
                                .isPresent())) {
            return false;
        }
        return here.size() > 1 || countsAgree(schedulerVariables);
    }

    /// Not after `srun --preserve-env`, which leaves the allocation's number to its tasks. A batch
    /// script is a single task, so one that has others beside it is believed all the same.
    private static boolean countsAgree(SchedulerVariables schedulerVariables) {
        Optional<String> tasks = schedulerVariables.find("SLURM_NTASKS");
        return tasks.isEmpty() || tasks.equals(schedulerVariables.find(SIZE));
    }

    private static Optional<TaskRank> local(SchedulerVariables schedulerVariables) {
        return schedulerVariables
                .integer("SLURM_LOCALID")
                .flatMap(
                        rank ->
                                tasksHere(schedulerVariables)
                                        .filter(size -> rank < size)
                                        .map(size -> new TaskRank(rank, size)));
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

    /// A job that is requeued keeps its number, and its steps start again from 0.
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
