package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

class ClassArchivesTest {
    private static final Map<String, String> HOME = Map.of("HOME", "/home/me");
    private static final String JOB = "HOROVOD_JOB_ID=7";

    @Test
    void archivesAreKeptInUserCache() {
        assertThat(ClassArchives.of(HOME, JOB))
                .map(ClassArchives::folder)
                .contains(Path.of("/home/me/.cache/horovod4j"));
    }

    @Test
    void optionSetsFolderOrDisablesArchives() {
        assertThat(ClassArchives.of(homeAnd("HOROVOD_CLASS_ARCHIVES", "/fast"), JOB))
                .map(ClassArchives::folder)
                .contains(Path.of("/fast"));
        assertThat(ClassArchives.of(homeAnd("HOROVOD_CLASS_ARCHIVES", "none"), JOB)).isEmpty();
    }

    /// With an agent the JVM would exit instead of writing an archive.
    @ParameterizedTest
    @ValueSource(strings = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
    void noArchivesWhenJvmOptionsVariableIsSet(String variable) {
        assertThat(ClassArchives.of(homeAnd(variable, "-javaagent:apm.jar"), JOB)).isEmpty();
    }

    private static Map<String, String> homeAnd(String variable, String value) {
        Map<String, String> variables = new HashMap<>(HOME);
        variables.put(variable, value);
        return variables;
    }
}
