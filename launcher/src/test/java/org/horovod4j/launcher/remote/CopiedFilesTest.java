package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.List;

class CopiedFilesTest {
    private final CopiedFiles copiedFiles =
            new CopiedFiles(
                    List.of(Path.of("app.jar"), Path.of("lib"), Path.of("/opt/lib")), "/own");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "app.jar                | /own/copies/0/app.jar",
                "./app.jar              | /own/copies/0/app.jar",
                "lib/*                  | /own/copies/1/lib/*",
                "lib                    | /own/copies/1/lib",
                "/opt/lib/x/y.jar       | /own/copies/2/lib/x/y.jar",
                "app.jar:lib/a.jar:etc  | /own/copies/0/app.jar:/own/copies/1/lib/a.jar:etc",
                "-javaagent:app.jar=on  | -javaagent:/own/copies/0/app.jar=on",
                "--jars=app.jar,b.jar   | --jars=/own/copies/0/app.jar,b.jar",
                "library                | library",
                "my-app.jar             | my-app.jar",
                "Train                  | Train",
                "http://host/app.jar    | http://host/app.jar"
            })
    void copiedPathsAreTranslated(String word, String expected) {
        assertThat(copiedFiles.translate(word)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "pom.xml    | /own/copies/0/%s/pom.xml",
                "java       | java",
                "-cp        | -cp",
                "10.0.0.1   | 10.0.0.1"
            })
    void otherArgumentsAreNotTranslated(String word, String expected) {
        Path here = Path.of("").toAbsolutePath();
        CopiedFiles all = new CopiedFiles(List.of(here), "/own");
        assertThat(all.translate(word)).isEqualTo(expected.formatted(here.getFileName()));
    }
}
