package org.horovod4j.scheduler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.RankAndSize;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/// The variables are copied from real launchers; see also the integration tests.
class SchedulerAssignmentTest {
    private static final String OMPI =
            "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1"
                    + " OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=1469906945 PMIX_RANK=3"
                    + " OMPI_MCA_orte_precondition_transports=5e5ab94d-d0e05686";
    private static final String HYDRA = "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2";
    private static final String STEP =
            "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4 SLURM_LOCALID=1 SLURM_NODEID=1"
                    + " SLURM_STEP_TASKS_PER_NODE=2(x2) SLURM_GTIDS=2,3 SLURM_STEP_ID=0"
                    + " SLURM_JOB_ID=7 SLURMD_NODENAME=n2 SLURM_STEP_NODELIST=n[1-2]";

    /// A batch script without `srun`: its rank and size are those of the allocation.
    private static final String BATCH =
            "SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_GTIDS=0"
                    + " SLURM_JOB_ID=7 SLURMD_NODENAME=n1 SLURM_TASKS_PER_NODE=2(x2)";

    @Test
    void openMpiGivesRanksAndJobButNoHost() {
        assertThat(find(OMPI))
                .contains(
                        new SchedulerAssignment(
                                "by OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE",
                                new RankAndSize(3, 4),
                                new RankAndSize(1, 2),
                                null,
                                "ompi-1469906945-5e5ab94d-d0e05686",
                                null));
    }

    @Test
    void hydraGivesRankAndSize() {
        assertThat(find(HYDRA))
                .contains(
                        new SchedulerAssignment(
                                "by PMI_RANK and PMI_SIZE",
                                new RankAndSize(3, 4),
                                new RankAndSize(1, 2),
                                null,
                                null, // no ancestor of this test is a proxy of Hydra
                                null));
    }

    @Test
    void slurmStepGivesEverything() {
        assertThat(find(STEP))
                .contains(
                        new SchedulerAssignment(
                                "by SLURM_PROCID and SLURM_STEP_NUM_TASKS",
                                new RankAndSize(3, 4),
                                new RankAndSize(1, 2),
                                "n2",
                                "slurm-7.0.0",
                                "n1"));
    }

    /// `srun --preserve-env` keeps the allocation's number of tasks.
    @Test
    void slurmStepWithPreservedEnvironmentIsRecognized() {
        assertThat(find(STEP.replace("SLURM_NTASKS=4", "SLURM_NTASKS=8")))
                .map(SchedulerAssignment::world)
                .contains(new RankAndSize(3, 4));
    }

    @Test
    void slurmPtyStepIsReportedInOrigin() {
        assertThat(find(STEP + " SLURM_PTY_PORT=34567"))
                .map(SchedulerAssignment::origin)
                .hasValueSatisfying(origin -> assertThat(origin).contains("srun without --pty"));
    }

    @Test
    void newerHydraLocalRankVariablesAreRead() {
        assertThat(find("PMI_RANK=3 PMI_SIZE=4 PMI_LOCAL_RANK=1 PMI_LOCAL_SIZE=2"))
                .map(SchedulerAssignment::local)
                .contains(new RankAndSize(1, 2));
    }

    @Test
    void requeuedSlurmJobHasAnotherName() {
        assertThat(find(STEP + " SLURM_RESTART_COUNT=2"))
                .map(SchedulerAssignment::job)
                .contains("slurm-7.0.2");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "SLURM_JOB_ID=7 SLURM_NTASKS=2 SLURM_TASKS_PER_NODE=2", // salloc
                BATCH,
                BATCH + " SLURM_STEP_ID=batch",
                BATCH + " SLURM_STEP_ID=4294967291 SLURM_STEP_NUM_TASKS=4", // batch, as a number
                BATCH + " SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1", // salloc's own shell
                // sbatch inside a step: what it leaves there is the step's, what else is the
                // batch's
                BATCH + " SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_TASKS_PER_NODE=1",
                BATCH + " SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_TASKS_PER_NODE=2(x2)",
                "OMPI_COMM_WORLD_RANK= OMPI_COMM_WORLD_SIZE="
            })
    void processOutsideStepHasNoAssignment(String variables) {
        assertThat(find(variables)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        // mpirun inside an allocation: Slurm started its daemons, one on each node
        "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8, 5, by OMPI_COMM_WORLD_RANK",
        "PMI_RANK=5 PMI_SIZE=8 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2, 5, by PMI_RANK",
        // srun --mpi=pmi2: both agree, and Slurm has the host name
        "PMI_RANK=3 PMI_SIZE=4, 3, by SLURM_PROCID",
        "PMI_RANK=0 PMI_SIZE=1, 3, by SLURM_PROCID",
        "PMIX_RANK=3, 3, by SLURM_PROCID"
    })
    void innermostLauncherWins(String more, int rank, String origin) {
        assertThat(find(STEP + " " + more))
                .hasValueSatisfying(
                        found -> {
                            assertThat(found.world().rank()).isEqualTo(rank);
                            assertThat(found.origin()).startsWith(origin);
                        });
    }

    @Test
    void localSizeFollowsTasksPerNode() {
        String uneven =
                STEP.replace("2(x2)", "3,1")
                        .replace("SLURM_LOCALID=1", "SLURM_LOCALID=0")
                        .replace("2,3", "3");
        assertThat(find(uneven)).map(SchedulerAssignment::local).contains(new RankAndSize(0, 1));
    }

    @ParameterizedTest
    @CsvSource({
        "OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE is not",
        "OMPI_COMM_WORLD_SIZE=2, OMPI_COMM_WORLD_RANK is not",
        "PMI_RANK=1, PMI_SIZE is not",
        "PMI_ID=1, PMI_SIZE is not",
        "SLURM_STEP_ID=0 SLURM_PROCID=1, SLURM_STEP_NUM_TASKS is not",
        "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=2, ranks go from 0 to 1",
        "PMI_RANK=one PMI_SIZE=2, PMI_RANK is 'one'",
        "PMIX_RANK=0, no variable says how many"
    })
    void contradictionsAreRefused(String variables, String message) {
        assertThatThrownBy(() -> find(variables))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(message)
                .hasMessageContaining("HOROVOD_RANK");
    }

    private static Optional<SchedulerAssignment> find(String variables) {
        Map<String, String> environment = new HashMap<>();
        for (String each : variables.split(" ", -1)) {
            int at = each.indexOf('=');
            if (at > 0) {
                environment.put(each.substring(0, at), each.substring(at + 1));
            }
        }
        return SchedulerAssignment.from(environment, ProcessHandle.current());
    }
}
