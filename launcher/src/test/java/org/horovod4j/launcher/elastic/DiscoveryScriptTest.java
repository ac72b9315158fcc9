package org.horovod4j.launcher.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

class DiscoveryScriptTest {
    @TempDir Path folder;

    private static List<Host> find(String script, Duration timeout) throws Exception {
        try (DiscoveryScript discovery =
                new DiscoveryScript(
                        script, 2, new Login(null, 2222, null), Map.of("MARK", "m"), timeout)) {
            return discovery.find();
        }
    }

    @Test
    void whatItPrintsAreTheHosts() throws Exception {
        assertThat(find("echo a:3; echo $MARK; echo not this >&2", Duration.ofSeconds(30)))
                .containsExactly(
                        new Host("a", 3, new Login(null, 2222, null)),
                        new Host("m", 2, new Login(null, 2222, null)));
    }

    @Test
    void aFailureIsToldWithItsLastWords() {
        assertThatThrownBy(
                        () ->
                                find(
                                        "echo a:1; echo first >&2; echo no route >&2; exit 3",
                                        Duration.ofSeconds(30)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessage("exit code 3: no route");
    }

    @Test
    void aMisspeltNameIsAFailure() {
        assertThatThrownBy(() -> find("./no-such-script.sh", Duration.ofSeconds(30)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessageMatching("exit code 127: .*no-such-script.sh.*not found");
    }

    @Test
    void aScriptThatHangsIsKilledWithItsChildren() throws Exception {
        Path pids = folder.resolve("pids");
        String script = "sleep 1000 & echo $$ $! > %s; wait".formatted(pids);
        assertThatThrownBy(() -> find(script, Duration.ofMillis(500)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessage("it did not end within 0.5 s and was killed");
        for (String pid : Files.readString(pids).strip().split(" ", -1)) {
            await().until(() -> ProcessHandle.of(Long.parseLong(pid)).isEmpty());
        }
    }

    @Test
    void aChildInTheBackgroundKeepsNobodyWaiting() throws Exception {
        Path pid = folder.resolve("pid");
        assertThat(
                        find(
                                "(sleep 1000 & echo $! > %s); echo a:1".formatted(pid),
                                Duration.ofSeconds(30)))
                .containsExactly(new Host("a", 1, new Login(null, 2222, null)));
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip()))
                .ifPresent(ProcessHandle::destroyForcibly);
    }

    @Test
    void itsFilesGoWithIt() throws IOException {
        List<Path> before = temporary();
        try (DiscoveryScript discovery =
                new DiscoveryScript("true", null, Login.DEFAULT, Map.of(), Duration.ofSeconds(9))) {
            assertThat(discovery).hasToString("true");
        }
        assertThat(temporary()).isEqualTo(before);
    }

    @Test
    void aFolderThatCannotBeRemovedIsNoFailure() throws Exception {
        Path name = folder.resolve("name");
        String script = "out=$(readlink /proc/$$/fd/1); echo $out > %s; echo a:1".formatted(name);
        Path left;
        try (DiscoveryScript discovery =
                new DiscoveryScript(
                        script, null, Login.DEFAULT, Map.of(), Duration.ofSeconds(30))) {
            assertThat(discovery.find()).hasSize(1);
            left = Path.of(Files.readString(name).strip()).resolveSibling("somebody-elses");
            Files.createFile(left);
        }
        assertThat(left).as("the folder could not be removed").exists();
        Files.delete(left);
        Files.delete(left.resolveSibling(".").normalize());
    }

    private static List<Path> temporary() throws IOException {
        try (var files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(file -> file.toString().contains("horovodrun-discovery"))
                    .sorted()
                    .toList();
        }
    }
}
