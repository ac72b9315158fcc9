package org.horovod4j.launcher.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;

class JavaArgumentsTest {
    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "java -cp a.jar:b.jar Train --epochs 3, a.jar:b.jar",
        "java -Xmx1g --add-modules x -classpath a.jar Train -cp other.jar, a.jar",
        "java --class-path=a.jar Train, a.jar",
        "java -jar app.jar -cp other.jar, app.jar",
        "java --enable-native-access ALL-UNNAMED -jar app.jar, app.jar"
    })
    void classPathIsFound(String command, String classPath) {
        assertThat(words(command).classPath()).isEqualTo(classPath);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "java Train",
        "java -cp a.jar Train.java",
        "java @options",
        "java -cp a.jar",
        "java"
    })
    void missingClassPathIsNull(String command) {
        assertThat(words(command).classPath()).isNull();
    }

    private static JavaArguments words(String command) {
        return JavaArguments.of(List.of(command.split(" ")));
    }
}
