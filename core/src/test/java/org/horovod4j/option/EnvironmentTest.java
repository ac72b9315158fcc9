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
    void anAliasServesWhenTheVariableIsNotSet() {
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
    void withoutADefaultAValueIsDemanded() {
        assertThatThrownBy(() -> new Environment(Map.of()).get(Options.RENDEZVOUS_ADDR))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_RENDEZVOUS_ADDR is not set")
                .hasMessageContaining("where the ranks meet");
    }

    @Test
    void itIsASnapshot() {
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
    void aMisspeltVariableIsReportedWithTheOneThatIsMeant(String written, String meant) {
        assertThat(environment(written, "1").unknown())
                .containsExactly(
                        "%s is ignored: Horovod4J has no such option. Did you mean %s?"
                                .formatted(written, meant));
    }

    @Test
    void aVariableLikeNoOtherIsReportedWithoutAGuess() {
        assertThat(environment("HOROVOD_MPI_THREADS_DISABLE", "1").unknown())
                .containsExactly(
                        "HOROVOD_MPI_THREADS_DISABLE is ignored: Horovod4J has no such option.");
    }

    @Test
    void knownAndForeignVariablesAreNotReported() {
        assertThat(
                        new Environment(
                                        Map.of(
                                                "HOROVOD_RANK", "0",
                                                "HOROVOD_GLOO_RENDEZVOUS_ADDR", "x",
                                                "PATH", "/bin"))
                                .unknown())
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"'', '', 0", "a, '', 1", "'', abc, 3", "kitten, sitting, 3", "abc, abc, 0"})
    void changesAreCounted(String from, String to, int changes) {
        assertThat(Spelling.changes(from, to)).isEqualTo(changes);
    }

    private static Environment environment(String name, String value) {
        return new Environment(Map.of(name, value));
    }
}
