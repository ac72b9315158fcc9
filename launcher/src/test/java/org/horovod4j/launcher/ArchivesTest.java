package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.Map;

class ArchivesTest {
    private static final Map<String, String> HOME = Map.of("HOME", "/home/me");

    @Test
    void theyAreKeptInTheUsersCache() {
        assertThat(Archives.of(HOME, Map.of()))
                .map(Archives::folder)
                .contains(Path.of("/home/me/.cache/horovod4j"));
    }

    @Test
    void aFlagMovesThemOrSwitchesThemOff() {
        assertThat(Archives.of(HOME, Map.of("HOROVOD_CLASS_ARCHIVES", "/fast")))
                .map(Archives::folder)
                .contains(Path.of("/fast"));
        assertThat(Archives.of(HOME, Map.of("HOROVOD_CLASS_ARCHIVES", "none"))).isEmpty();
    }

    /// The JVM would refuse to make an archive with an agent, and end.
    @ParameterizedTest
    @ValueSource(strings = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
    void thereAreNoneWhereAVariableMayNameAnAgent(String variable) {
        Map<String, String> variables = Map.of("HOME", "/home/me", variable, "-javaagent:apm.jar");
        assertThat(Archives.of(variables, Map.of())).isEmpty();
    }
}
