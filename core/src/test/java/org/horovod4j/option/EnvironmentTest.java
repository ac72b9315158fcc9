package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.HashMap;
import java.util.Map;

class EnvironmentTest {
    @Test
    void theValueComesFromTheVariable() {
        assertThat(environment("HOROVOD_TCP_STREAMS", " 3 ").get(Options.TCP_STREAMS)).isEqualTo(3);
    }

    @Test
    void aliasIsReadWhenVariableIsNotSet() {
        Environment aliased = environment("HOROVOD_GLOO_RENDEZVOUS_PORT", "4321");
        assertThat(aliased.get(Options.RENDEZVOUS_PORT)).isEqualTo(4321);
        Environment both =
                new Environment(
                        Map.of(
                                "HOROVOD_GLOO_RENDEZVOUS_PORT", "4321",
                                "HOROVOD_RENDEZVOUS_PORT", "1234"));
        assertThat(both.get(Options.RENDEZVOUS_PORT)).isEqualTo(1234);
    }

    @Test
    void anErrorNamesTheVariableThatWasRead() {
        Environment aliased = environment("HOROVOD_GLOO_RENDEZVOUS_PORT", "-1");
        assertThatThrownBy(() -> aliased.get(Options.RENDEZVOUS_PORT))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_GLOO_RENDEZVOUS_PORT is '-1'");
    }

    @Test
    void aBlankVariableCountsAsNotSet() {
        Environment blank = environment("HOROVOD_TCP_STREAMS", " ");
        assertThat(blank.find(Options.TCP_STREAMS)).isEmpty();
        assertThat(blank.isSet(Options.TCP_STREAMS)).isFalse();
        assertThat(blank.get(Options.TCP_STREAMS)).isZero();
    }

    @Test
    void missingValueWithoutDefaultFails() {
        assertThatThrownBy(() -> new Environment(Map.of()).get(Options.RENDEZVOUS_ADDR))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_RENDEZVOUS_ADDR is not set")
                .hasMessageContaining("The host of the rendezvous server");
    }

    @Test
    void laterChangesOfTheMapHaveNoEffect() {
        Map<String, String> variables = new HashMap<>(Map.of("HOROVOD_TCP_STREAMS", "2"));
        Environment environment = new Environment(variables);
        variables.clear();
        assertThat(environment.get(Options.TCP_STREAMS)).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_TCP_STREAM, HOROVOD_TCP_STREAMS",
        "HOROVOD_HARTBEAT_TIMEOUT, HOROVOD_HEARTBEAT_TIMEOUT",
        "HOROVOD_RNAK, HOROVOD_RANK",
        "HOROVOD_GLOO_RENDEZVOUS_PROT, HOROVOD_GLOO_RENDEZVOUS_PORT"
    })
    void misspelledVariableIsReportedWithSuggestion(String written, String suggestion) {
        assertThat(environment(written, "1").warnings())
                .containsExactly(
                        "%s is ignored: Horovod4J has no such option. Did you mean %s?"
                                .formatted(written, suggestion));
    }

    @Test
    void unknownVariableIsReportedWithoutSuggestion() {
        assertThat(environment("HOROVOD_QUANTUM_ENTANGLEMENT", "1").warnings())
                .containsExactly(
                        "HOROVOD_QUANTUM_ENTANGLEMENT is ignored: Horovod4J has no such option.");
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_HIERARCHICAL_ALLGATHER, inside each host",
        "HOROVOD_TORUS_ALLREDUCE, HOROVOD_ALLREDUCE_ALGORITHM",
        "HOROVOD_NUM_NCCL_STREAMS, GPU",
        "HOROVOD_BATCH_D2D_MEMCOPIES, GPU",
        "HOROVOD_ENABLE_ASYNC_COMPLETION, GPU",
        "HOROVOD_DISABLE_NVTX_RANGES, GPU",
        "HOROVOD_ENABLE_XLA_OPS, GPU",
        "HOROVOD_ADASUM_MPI_CHUNK_SIZE, HOROVOD_TRANSPORT",
        "HOROVOD_MPI_THREADS_DISABLE, HOROVOD_TRANSPORT",
        "HOROVOD_CONTROLLER, HOROVOD_TRANSPORT",
        "HOROVOD_CCL_CACHE, HOROVOD_TRANSPORT",
        "HOROVOD_GLOO_TIMEOUT_SECONDS, HOROVOD_START_TIMEOUT",
        "HOROVOD_SPARK_START_TIMEOUT, Spark",
        "HOROVOD_SPARK_USE_LOCAL_RANK_GPU_INDEX, Spark",
        "HOROVOD_SPARK_WORK_DIR, Spark",
        "HOROVOD_WITHOUT_GLOO, Nothing is compiled",
        "HOROVOD_WITH_PYTORCH, Nothing is compiled",
        "HOROVOD_GPU, Nothing is compiled",
        "HOROVOD_ALLOW_MIXED_GPU_IMPL, Nothing is compiled",
        "HOROVOD_NCCL_HOME, Nothing is compiled",
        "HOROVOD_DEBUG, Nothing is compiled"
    })
    void unsupportedHorovodVariableIsExplained(String name, String reason) {
        assertThat(environment(name, "1").warnings())
                .singleElement()
                .asString()
                .startsWith(name + " has no effect here. ")
                .contains(reason)
                .doesNotContain("Did you mean");
    }

    @Test
    void noOwnOptionIsListedAsUnsupported() {
        assertThat(Options.all().stream().flatMap(option -> option.names().stream()))
                .noneMatch(name -> UnsupportedVariable.find(name).isPresent());
    }

    @Test
    void unneededVariableGivesNoWarning() {
        assertThat(environment("HOROVOD_DYNAMIC_PROCESS_SETS", "1").warnings()).isEmpty();
    }

    @Test
    void aBlankVariableIsNotReported() {
        assertThat(environment("HOROVOD_CONTROLLER", "").warnings()).isEmpty();
    }

    @Test
    void aLenientOptionThatCannotBeReadCountsAsNotSet() {
        Environment loud = environment("HOROVOD_LOG_LEVEL", "loud");
        assertThat(loud.find(RuntimeOptions.LOG_LEVEL)).isEmpty();
        assertThat(loud.warnings())
                .singleElement()
                .asString()
                .contains("HOROVOD_LOG_LEVEL is 'loud'", "`trace`", "`fatal`", "it is ignored");
    }

    @Test
    void knownAndForeignVariablesAreNotReported() {
        assertThat(
                        new Environment(
                                        Map.of(
                                                "HOROVOD_RANK", "0",
                                                "HOROVOD_GLOO_RENDEZVOUS_ADDR", "x",
                                                "PATH", "/bin"))
                                .warnings())
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"'', '', 0", "a, '', 1", "'', abc, 3", "kitten, sitting, 3", "abc, abc, 0"})
    void editDistanceIsCounted(String from, String to, int changes) {
        assertThat(SpellingSuggestion.editDistance(from, to)).isEqualTo(changes);
    }

    private static Environment environment(String name, String value) {
        return new Environment(Map.of(name, value));
    }
}
