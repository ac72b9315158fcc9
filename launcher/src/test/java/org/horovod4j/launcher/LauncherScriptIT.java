package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;

/// The script that starts the launcher, with fake JDKs: a version file and a shell script each.
class LauncherScriptIT {
    private static final Path SCRIPT = Path.of("src/main/scripts/horovodrun").toAbsolutePath();

    @TempDir Path root;

    private Path jdk(String version) throws IOException {
        Path home = root.resolve("jdk-" + version);
        Path java = Files.createDirectories(home.resolve("bin")).resolve("java");
        Files.writeString(
                java, "#!/bin/sh\necho jdk " + version + "; for a; do echo \"$a\"; done\n");
        assertThat(java.toFile().setExecutable(true)).isTrue();
        Files.writeString(
                home.resolve("release"),
                "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"%s\"\nLIBC=\"gnu\"\n".formatted(version));
        return home;
    }

    private String run(Path script, Map<String, String> variables, String... arguments)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(script.toString());
        builder.command().addAll(List.of(arguments));
        builder.environment().remove("JAVA_HOME");
        builder.environment().putAll(variables);
        builder.redirectErrorStream(true);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        process.waitFor();
        return output;
    }

    @Test
    void javaHomeIsPreferred() throws Exception {
        Path path = jdk("26").resolve("bin");
        assertThat(
                        run(
                                SCRIPT,
                                Map.of(
                                        "JAVA_HOME",
                                        jdk("25.0.1").toString(),
                                        "PATH",
                                        path + ":" + System.getenv("PATH"))))
                .startsWith("jdk 25.0.1\n");
    }

    @Test
    void pathIsUsedWhenJavaHomeIsTooOld() throws Exception {
        Path path = jdk("26").resolve("bin");
        assertThat(
                        run(
                                SCRIPT,
                                Map.of(
                                        "JAVA_HOME",
                                        jdk("17.0.2").toString(),
                                        "PATH",
                                        path + ":" + System.getenv("PATH"))))
                .startsWith("jdk 26\n");
    }

    @Test
    void argumentsArePassedUnchanged() throws Exception {
        assertThat(
                        run(
                                SCRIPT,
                                Map.of("JAVA_HOME", jdk("25").toString()),
                                "-np",
                                "2",
                                "two words",
                                "*",
                                ""))
                .endsWith("org.horovod4j.launcher.HorovodRun\n-np\n2\ntwo words\n*\n\n");
    }

    @Test
    void distributionWorksThroughSymbolicLink() throws Exception {
        Path bin = Files.createDirectories(root.resolve("dist/bin"));
        Path script = Files.copy(SCRIPT, bin.resolve("horovodrun"));
        assertThat(script.toFile().setExecutable(true)).isTrue();
        Path link = Files.createSymbolicLink(root.resolve("run"), script);
        assertThat(run(link, Map.of("JAVA_HOME", jdk("25").toString())))
                .contains("-cp\n" + bin.toRealPath() + "/../lib/*\n");
    }

    @Test
    void distributionArchivesLauncherClassesUnlessDisabled() throws Exception {
        Path bin = Files.createDirectories(root.resolve("dist/bin"));
        Path script = Files.copy(SCRIPT, bin.resolve("horovodrun"));
        assertThat(script.toFile().setExecutable(true)).isTrue();
        String home = jdk("25").toString();
        String cache = root.resolve("my cache").toString();
        assertThat(run(script, Map.of("JAVA_HOME", home, "XDG_CACHE_HOME", cache)))
                .contains("-XX:SharedArchiveFile=" + cache + "/horovod4j/launcher-25.jsa\n");
        assertThat(run(script, Map.of("JAVA_HOME", home, "HOROVOD_CLASS_ARCHIVES", "none")))
                .doesNotContain("SharedArchiveFile");
        assertThat(run(script, Map.of("JAVA_HOME", home, "XDG_CACHE_HOME", "", "HOME", "")))
                .doesNotContain("SharedArchiveFile");
    }

    /// The JVM would run whatever code another user puts into an archive.
    @Test
    void archiveThatOthersCouldReplaceIsNotUsed() throws Exception {
        Path bin = Files.createDirectories(root.resolve("dist/bin"));
        Path script = Files.copy(SCRIPT, bin.resolve("horovodrun"));
        assertThat(script.toFile().setExecutable(true)).isTrue();
        Path cache = Files.createDirectories(root.resolve("a/my cache/archives"));
        Map<String, String> variables =
                Map.of(
                        "JAVA_HOME",
                        jdk("25").toString(),
                        "HOROVOD_CLASS_ARCHIVES",
                        cache.toString());
        for (Path open : List.of(cache, root.resolve("a/my cache"))) {
            Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
            assertThat(run(script, variables))
                    .contains("another user could put code into " + open)
                    .doesNotContain("SharedArchiveFile");
            Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwx------"));
        }
        assertThat(run(script, variables)).contains("SharedArchiveFile=" + cache);
        Path link = Files.createSymbolicLink(cache.resolve("launcher-25.jsa"), SCRIPT);
        assertThat(run(script, variables))
                .contains("could put code into " + link)
                .doesNotContain("SharedArchiveFile");
    }

    @Test
    void missingJavaIsReportedInOneSentence() throws Exception {
        // A copy that does not look in common places: this machine has a JDK in one.
        String text =
                Files.readString(SCRIPT).replaceAll("for home in (?s:.*?); do", "for home in; do");
        Path script = Files.writeString(root.resolve("horovodrun"), text);
        assertThat(script.toFile().setExecutable(true)).isTrue();
        assertThat(run(script, Map.of("JAVA_HOME", jdk("17").toString(), "PATH", "/bin/none")))
                .contains("needs Java 25 or newer and found none")
                .hasLineCount(1);
    }
}
