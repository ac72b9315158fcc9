package org.horovod4j.launcher.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class ProgramTest {
    private static final String WARNING = "WARNING: Using incubator modules: jdk.incubator.vector";

    @TempDir Path root;
    private JavaHome own;

    @BeforeEach
    void ownJava() throws IOException {
        own = javaHome("own", "JAVA_VERSION=\"25.0.1\"\n");
    }

    private JavaHome javaHome(String name, String release) throws IOException {
        Path home = root.resolve(name);
        Path java = Files.createDirectories(home.resolve("bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\n");
        assertThat(java.toFile().setExecutable(true)).isTrue();
        if (!release.isEmpty()) {
            Files.writeString(home.resolve("release"), release);
        }
        return new JavaHome(home);
    }

    private Program program(JavaHome onPath, String... words) {
        SearchPath path = new SearchPath(List.of(onPath.folder().resolve("bin")));
        return Program.of(List.of(words), path, own);
    }

    @Test
    void javaGetsTheVectorModule() {
        Program program = program(own, "java", "-cp", "app.jar", "Train");
        assertThat(program.command())
                .containsExactly(
                        "java",
                        "--add-modules",
                        "jdk.incubator.vector",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        "app.jar",
                        "Train");
        assertThat(program.unwantedLine()).isEqualTo(WARNING);
    }

    @Test
    void missingJarsOfTheClassPathAreNamed() throws IOException {
        Path there = Files.createFile(root.resolve("there.jar"));
        String classPath = there + ":no.jar:folder:no/*:*:" + root + "/*";
        assertThat(program(own, "java", "-cp", classPath, "Train").missingJars())
                .containsExactly("no.jar", "no/*");
        assertThat(program(own, "java", "-jar", "gone.jar").missingJars())
                .containsExactly("gone.jar");
        assertThat(program(own, "java", "Train", "-cp", "no.jar").missingJars()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--add-modules=jdk.incubator.vector",
                "--add-modules jdk.incubator.vector",
                "--add-modules java.sql,jdk.incubator.vector"
            })
    void warningIsKeptWhenUserAddsVectorModule(String options) {
        String[] words = ("java " + options + " Train").split(" ");
        Program program = program(own, words);
        assertThat(program.command()).containsExactly(words);
        assertThat(program.unwantedLine()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-XX:StartFlightRecording | -XX:StartFlightRecording:OFF",
                "-XX:StartFlightRecording: | -XX:StartFlightRecording:OFF",
                "-XX:StartFlightRecording=filename=a.jfr | -XX:StartFlightRecording=filename=a.jfr,OFF",
                "-XX:StartFlightRecording:name=a,delay=1s | -XX:StartFlightRecording:name=a,delay=1s,OFF",
                "-XX:StartFlightRecording:help | -XX:StartFlightRecording:help",
                "-XX:StartFlightRecording:jdk.InitialEnvironmentVariable#enabled=true"
                        + " | -XX:StartFlightRecording:jdk.InitialEnvironmentVariable#enabled=true",
            })
    void flightRecordingOmitsTheEnvironment(String given, String run) {
        String off = "jdk.InitialEnvironmentVariable#enabled=false";
        assertThat(program(own, "java", given, "-cp", "a.jar", "Train", given).command())
                .containsSequence(run.replace("OFF", off), "-cp", "a.jar", "Train", given);
    }

    @Test
    void otherModulesAreNotTheVectorModule() {
        assertThat(program(own, "java", "--add-modules", "java.sql", "Train").command())
                .contains("jdk.incubator.vector");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"JAVA_VERSION=\"17.0.15\"\n", "JAVA_VERSION=\"1.8.0_402\"\n", "", "junk"})
    void oldJavaOnPathIsReplacedByLaunchersJava(String release) throws IOException {
        JavaHome old = javaHome("old", release);
        assertThat(program(old, "java", "Train").command())
                .startsWith(own.folder().resolve("bin/java").toString());
    }

    @Test
    void newerJavaOnPathIsUsed() throws IOException {
        JavaHome newer = javaHome("newer", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"26\"\n");
        assertThat(program(newer, "java", "Train").command()).startsWith("java");
    }

    @Test
    void explicitJavaPathIsUsed() throws IOException {
        JavaHome old = javaHome("old", "JAVA_VERSION=\"17\"\n");
        String java = old.folder().resolve("bin/java").toString();
        assertThat(program(own, java, "Train").command())
                .startsWith(java, "--add-modules", "jdk.incubator.vector");
    }

    @Test
    void otherProgramsAreUnchanged() throws IOException {
        Files.copy(own.folder().resolve("bin/java"), own.folder().resolve("bin/javac"));
        assertThat(own.folder().resolve("bin/javac").toFile().setExecutable(true)).isTrue();
        assertThat(program(own, "javac", "-version"))
                .isEqualTo(new Program(List.of("javac", "-version"), ""));
    }

    @Test
    void toStringQuotesLikeAShell() {
        assertThat(new Program(List.of("sh", "-c", "echo it's", ""), ""))
                .hasToString("sh -c 'echo it'\\''s' ''");
    }
}
