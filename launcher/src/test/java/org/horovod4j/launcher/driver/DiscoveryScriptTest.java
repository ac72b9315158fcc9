package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

class DiscoveryScriptTest {
    @TempDir Path folder;

    private static List<Host> find(String script, Duration timeout) throws Exception {
        return new DiscoveryScript(
                        script, 2, new Login(null, 2222, null), Map.of("MARK", "m"), timeout)
                .find();
    }

    @Test
    void hostsAreReadFromStandardOutput() throws Exception {
        assertThat(find("echo a:3; echo $MARK; echo not this >&2", Duration.ofSeconds(30)))
                .containsExactly(
                        new Host("a", 3, new Login(null, 2222, null)),
                        new Host("m", 2, new Login(null, 2222, null)));
    }

    @Test
    void failureMessageContainsLastErrorLine() {
        assertThatThrownBy(
                        () ->
                                find(
                                        "echo a:1; echo first >&2; echo no route >&2; exit 3",
                                        Duration.ofSeconds(30)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessage("exit code 3: no route");
    }

    @Test
    void unknownScriptFails() {
        assertThatThrownBy(() -> find("./no-such-script.sh", Duration.ofSeconds(30)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessageMatching("exit code 127: .*no-such-script.sh.*not found");
    }

    @Test
    void hangingScriptIsKilledWithItsChildren() throws Exception {
        Path pids = folder.resolve("pids");
        String script = "sleep 1000 & echo $$ $! > %s; wait".formatted(pids);
        assertThatThrownBy(() -> find(script, Duration.ofSeconds(5)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessage("it did not end within 5 s and was killed");
        for (String pid : Files.readString(pids).strip().split(" ", -1)) {
            await().until(() -> ProcessHandle.of(Long.parseLong(pid)).isEmpty());
        }
    }

    @Test
    void backgroundChildDoesNotBlockDiscovery() throws Exception {
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
    void outputLargerThanPipeBufferIsRead() throws Exception {
        String lines =
                "i=0; while [ $i -lt 20000 ]; do echo h$i:1; echo note $i >&2; i=$((i+1)); done";
        assertThat(find(lines, Duration.ofSeconds(60))).hasSize(20_000);
    }

    @Test
    void endlessOutputIsRejectedAtSizeLimit() {
        assertThatThrownBy(() -> find("yes a:1", Duration.ofMinutes(5)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessage("it prints more than 1048576 bytes, which is not a list of hosts");
    }

    @Test
    void endlessErrorOutputIsStoppedAtTimeout() {
        assertThatThrownBy(() -> find("yes no host >&2", Duration.ofSeconds(1)))
                .isInstanceOf(DiscoveryException.class)
                .hasMessage("it did not end within 1 s and was killed");
    }

    /// So nothing is left behind, however the launcher ends.
    @Test
    void scriptRunCreatesNoFiles() throws Exception {
        Path seen = folder.resolve("seen");
        String script =
                "for each in 0 1 2; do all=\"$all $(readlink /proc/$$/fd/$each)\"; done;"
                        + " echo $all > %s; echo a:1".formatted(seen);
        assertThat(find(script, Duration.ofSeconds(30))).hasSize(1);
        assertThat(Files.readString(seen)).matches("/dev/null pipe:\\S+ pipe:\\S+\n");
    }

    @Test
    void toStringIsTheCommandOfTheUser() {
        assertThat(
                        new DiscoveryScript(
                                "./hosts.sh", null, Login.DEFAULT, Map.of(), Duration.ofSeconds(9)))
                .hasToString("./hosts.sh");
    }
}
