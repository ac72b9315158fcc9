package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.Map;

class LaunchContextTest {
    private static final String INVALID_VALUE = "no such value";

    /// The options that make a process fail for this value.
    static List<Option<?>> strict() {
        return Options.all().stream()
                .filter(option -> !option.flags().isEmpty() && isRefused(option))
                .toList();
    }

    private static boolean isRefused(Option<?> option) {
        try {
            var _ = new Environment(Map.of(option.variable(), INVALID_VALUE)).find(option);
            return false;
        } catch (ConfigurationException e) {
            return true;
        }
    }

    @ParameterizedTest
    @MethodSource("strict")
    void invalidOptionValueIsRefused(Option<?> option) {
        assertThat(option.names())
                .allSatisfy(
                        name ->
                                assertThatThrownBy(
                                                () ->
                                                        LaunchContext.checkOptions(
                                                                Map.of(name, INVALID_VALUE)))
                                        .isInstanceOf(ConfigurationException.class)
                                        .hasMessageStartingWith(
                                                "%s is '%s', which is not allowed\n",
                                                name, INVALID_VALUE));
    }

    @Test
    void launcherSetAndWarnOnlyOptionsAreIgnored() {
        assertThatCode(
                        () ->
                                LaunchContext.checkOptions(
                                        Map.of(
                                                "HOROVOD_RANK",
                                                INVALID_VALUE,
                                                "HOROVOD_LOG_LEVEL",
                                                INVALID_VALUE,
                                                "HOROVOD_AUTOTUNE",
                                                " ")))
                .doesNotThrowAnyException();
    }
}
