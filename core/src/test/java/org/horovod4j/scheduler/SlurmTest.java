package org.horovod4j.scheduler;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/// Whether the variables of a step belong to this process. There is one task on each of two nodes,
/// both in a step and in a batch script that was submitted from inside it.
class SlurmTest {
    private static final Map<String, String> ONE_TASK_PER_NODE =
            Map.of(
                    "SLURM_JOB_ID", "7",
                    "SLURM_STEP_ID", "1",
                    "SLURM_STEP_NUM_TASKS", "2",
                    "SLURM_STEP_TASKS_PER_NODE", "1(x2)",
                    "SLURM_PROCID", "0",
                    "SLURM_NODEID", "0",
                    "SLURM_GTIDS", "0");

    @ParameterizedTest
    @CsvSource({
        "slurmstepd: [7.1], 2, true",
        "slurmstepd: [7.1], 4, true", // srun -E: the number of tasks is the allocation's
        "slurmstepd: [7.batch], 2, false", // sbatch from inside a step of the same size
        "slurmstepd: [7.batch], 4, false",
        "slurmstepd: [7.interactive], 2, false",
        "slurmstepd: [3.1], 4, false", // salloc from inside a step of job 3
        "/usr/bin/containerd-shim, 2, true", // no daemon is visible: the counts decide
        "/usr/bin/containerd-shim, 4, false"
    })
    void stepDaemonDistinguishesStepFromInheritedVariables(
            String title, String tasks, boolean isOwn) {
        Map<String, String> variables = new HashMap<>(ONE_TASK_PER_NODE);
        variables.put("SLURM_NTASKS", tasks);
        assertThat(
                        Slurm.isOwn(
                                new SchedulerVariables(variables),
                                SlurmStepDaemon.parseTitle(title)))
                .isEqualTo(isOwn);
    }

    @Test
    void stepDaemonTitleIsParsed() {
        assertThat(SlurmStepDaemon.parseTitle("slurmstepd: [7.0]   "))
                .contains(new SlurmStepDaemon("7", "0"));
        assertThat(SlurmStepDaemon.parseTitle("slurmstepd: [7.batch]"))
                .hasValueSatisfying(daemon -> assertThat(daemon.isNotStep()).isTrue());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "slurmstepd", "sh -c slurmstepd: [7.0]", "slurmstepd: [7.0] more"})
    void otherTitlesAreNotStepDaemons(String title) {
        assertThat(SlurmStepDaemon.parseTitle(title)).isEmpty();
    }

    @Test
    void processOutsideSlurmHasNoStepDaemon() {
        assertThat(SlurmStepDaemon.ancestorOf(ProcessHandle.current())).isEqualTo(Optional.empty());
    }
}
