package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.option.BindTo;
import org.horovod4j.option.ElasticOptions;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class JobVariablesTest {
    private final JobVariables variables =
            new JobVariables(
                    JobSettings.of(Map.of()),
                    LauncherAddress.of(1, false, List.of()),
                    Map.of(),
                    ComputeThreads.of(_ -> 8, Map.of()),
                    GpuAssignment.of(_ -> 4, Map.of("HOROVOD_GPUS_PER_RANK", "2")));

    @Test
    void rankDoesNotInheritElasticFlag() {
        HostPlan plan = HostPlan.of(List.of(new Host("localhost", 1)), 1);
        Map<String, String> of = variables.of(plan.slots().getFirst(), false);
        assertThat(of).containsKey(ElasticOptions.ELASTIC.variable());
        assertThat(new Environment(of).get(ElasticOptions.ELASTIC)).isFalse();
    }

    @Test
    void secretIsForAFileAndNotInTheEnvironment() {
        assertThat(Options.SECRET_FILE.variable()).isEqualTo(HostAgent.SECRET_FILE);
        assertThat(variables.of(new Worker(3, "localhost", 0), 7, 1, true))
                .containsKey(HostAgent.SECRET_FILE)
                .doesNotContainKey(Options.SECRET_KEY.variable());
    }

    @Test
    void ranksOfHostShareItsProcessors() {
        HostPlan plan = HostPlan.of(List.of(new Host("a", 3), new Host("b", 9)), 12);
        assertThat(variables.of(plan.slots().getFirst(), false))
                .containsEntry("OMP_NUM_THREADS", "2");
        assertThat(variables.of(plan.slots().getLast(), false))
                .containsEntry("OMP_NUM_THREADS", "1");
        assertThat(variables.of(new Worker(0, "a", 0), 7, 2, false))
                .containsEntry("OMP_NUM_THREADS", "4");
    }

    @Test
    void ranksOfHostSeeDifferentGpus() {
        HostPlan plan = HostPlan.of(List.of(new Host("a", 2), new Host("b", 2)), 4);
        assertThat(plan.slots())
                .extracting(slot -> variables.of(slot, false).get(GpuAssignment.VARIABLE))
                .containsExactly("0,1", "2,3", "0,1", "2,3");
        assertThat(variables.of(new Worker(7, "a", 1), 7, 2, false))
                .containsEntry(GpuAssignment.VARIABLE, "2,3");
        assertThatThrownBy(() -> variables.of(new Worker(8, "a", 2), 7, 2, false))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageStartingWith(
                        "a has 4 NVIDIA GPUs, but its 3 ranks with --gpus-per-rank 2 need 6.");
    }

    @Test
    void threadsThatTheUserHasSetAreKept() {
        ComputeThreads set = ComputeThreads.of(_ -> 8, Map.of("OMP_NUM_THREADS", "3"));
        assertThat(set.variables("a", 2)).isEmpty();
    }

    @Test
    void pythonOutputIsUnbuffered() {
        HostPlan plan = HostPlan.of(List.of(new Host("localhost", 1)), 1);
        assertThat(variables.of(plan.slots().getFirst(), false))
                .containsEntry("PYTHONUNBUFFERED", "1");
    }

    @Test
    void elasticWorkerGetsElasticVariables() {
        Map<String, String> of = variables.of(new Worker(3, "localhost", 0), 7, 2, false);
        assertThat(new Environment(of).get(ElasticOptions.ELASTIC)).isTrue();
        assertThat(new Environment(of).get(Options.BIND_TO)).isEqualTo(BindTo.NONE);
    }
}
