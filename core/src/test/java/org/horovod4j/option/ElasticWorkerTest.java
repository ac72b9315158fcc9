package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.RankAndSize;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/// The settings of an elastic worker, before and after it is assigned a rank.
final class ElasticWorkerTest {
    private static final Map<String, String> TOLD =
            Map.of(
                    "HOROVOD_ELASTIC", "1",
                    "HOROVOD_ELASTIC_WORKER", "3",
                    "HOROVOD_ELASTIC_PORT", "4243",
                    "HOROVOD_HOSTNAME", "node2",
                    "HOROVOD_RENDEZVOUS_ADDR", "node1",
                    "HOROVOD_RENDEZVOUS_PORT", "4242",
                    "HOROVOD_RENDEZVOUS_SERVER", "launcher",
                    "HOROVOD_SECRET_KEY", "hunter2",
                    "SLURM_PROCID", "7");

    @Test
    void elasticWorkerHasNoRankUntilAssigned() {
        WorkerSettings settings = settings(TOLD);
        assertThat(settings.elastic()).isEqualTo(new ElasticWorker(3, 4243));
        assertThat(settings.host()).isEqualTo("node2");
        assertThat(settings.processIdentity().isAssigned()).isFalse();

        WorkerSettings placed =
                settings.withAssignment(
                        5, new RankAndSize(1, 4), new RankAndSize(1, 2), new RankAndSize(0, 2));
        assertThat(placed.rank()).isEqualTo(1);
        assertThat(placed.size()).isEqualTo(4);
        assertThat(placed.local()).isEqualTo(new RankAndSize(1, 2));
        assertThat(placed.processIdentity()).hasToString("rank 1 of 4 (in generation 5)");
        assertThat(placed.rendezvousSettings()).isEqualTo(settings.rendezvousSettings());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HOROVOD_ELASTIC_WORKER",
                "HOROVOD_ELASTIC_PORT",
                "HOROVOD_HOSTNAME",
                "HOROVOD_RENDEZVOUS_ADDR",
                "HOROVOD_RENDEZVOUS_PORT",
                "HOROVOD_SECRET_KEY"
            })
    void errorNamesMissingVariables(String variable) {
        Map<String, String> told = new HashMap<>(TOLD);
        told.remove(variable);
        assertThatThrownBy(() -> settings(told))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_ELASTIC is set, but these are not set: " + variable)
                .hasMessageContaining("Let horovodrun start the workers");
    }

    @Test
    void rendezvousServerMustBeTheLauncher() {
        Map<String, String> told = new HashMap<>(TOLD);
        told.remove("HOROVOD_RENDEZVOUS_SERVER");
        assertThatThrownBy(() -> settings(told))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_RENDEZVOUS_SERVER is not 'launcher'");
    }

    @Test
    void nonElasticJobHasNoElasticWorker() {
        assertThat(settings(Map.of()).elastic()).isNull();
        assertThat(settings(Map.of("HOROVOD_ELASTIC", "0")).elastic()).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "trace.json, 0, trace.json",
        "trace.json, 2, trace.generation-2.json",
        "a/b.c/trace, 11, a/b.c/trace.generation-11",
    })
    void eachGenerationHasItsOwnTimelineFile(Path file, int generation, Path expected) {
        TimelineSettings settings = new TimelineSettings(file, false, false, false, 0);
        assertThat(settings.forGeneration(generation).file()).isEqualTo(expected);
    }

    private static WorkerSettings settings(Map<String, String> variables) {
        return WorkerSettings.from(new Environment(variables));
    }
}
