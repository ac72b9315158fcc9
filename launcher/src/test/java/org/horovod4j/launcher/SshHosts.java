package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/// Three hosts with an sshd each, made of namespaces; `hosts.sh` says how they are wired.
///
/// A test class registers them as a static extension: they are there before its first test and gone
/// after its last, and where they may not be made the class is skipped.
final class SshHosts implements BeforeAllCallback, AfterAllCallback {
    private static final int COUNT = 3;

    /// How a kernel that lacks a kind of queue says so, the newer first.
    private static final Pattern NO_SUCH_QUEUE =
            Pattern.compile(
                    "qdisc kind is unknown|qdisc not found|RTNETLINK answers: No such file");

    private @Nullable Path folder;

    @Override
    public void beforeAll(ExtensionContext context) throws IOException, InterruptedException {
        assumeTrue(
                run("sh", "-c", "[ $(id -u) = 0 ] && ip netns list && unshare --net true") == 0,
                "needs root and network namespaces");
        folder = Files.createTempDirectory("hvdssh");
        try (InputStream text = SshHosts.class.getResourceAsStream("hosts.sh")) {
            Files.copy(Objects.requireNonNull(text), script());
        }
        act("up");
    }

    /// Comes after a failure too, and then removes what there is.
    @Override
    public void afterAll(ExtensionContext context) throws IOException, InterruptedException {
        if (folder != null) {
            act("down");
            assertThat(run("rm", "-rf", folder.toString())).isZero();
        }
    }

    private Path script() {
        return folder().resolve("hosts.sh");
    }

    private void act(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("sh", script().toString(), words[0]));
        command.add(folder().toString());
        command.addAll(List.of(words).subList(1, words.length));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
    }

    static int run(String... command) throws IOException, InterruptedException {
        return new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }

    /// A launcher that reaches the hosts.
    LauncherProcess start(String... arguments) throws IOException {
        return start(Map.of(), arguments);
    }

    LauncherProcess start(Map<String, String> variables, String... arguments) throws IOException {
        return start(HorovodRun.class, variables, arguments);
    }

    /// A launcher with two ranks on each host.
    LauncherProcess startOnAll(Map<String, String> variables, String... command)
            throws IOException {
        List<String> words =
                new ArrayList<>(List.of("-np", "6", "-H", "hvdssh1:2,hvdssh2:2,hvdssh3:2"));
        words.addAll(List.of(command));
        return start(variables, words.toArray(String[]::new));
    }

    /// A program that reaches them when it launches a function.
    LauncherProcess start(Class<?> main, String... arguments) throws IOException {
        return start(main, Map.of(), arguments);
    }

    LauncherProcess start(Class<?> main, Map<String, String> variables, String... arguments)
            throws IOException {
        Map<String, String> all = new HashMap<>();
        all.put("PATH", folder().resolve("bin") + ":" + System.getenv("PATH"));
        all.putAll(variables);
        return LauncherProcess.start(main, all, arguments);
    }

    /// What all hosts see, with the files of `hosts.sh` and those of a test.
    Path folder() {
        return Objects.requireNonNull(folder, "the hosts are not up");
    }

    void cutLink(int host) throws IOException, InterruptedException {
        assertThat(run("ip", "link", "set", "hvdssh" + host + "-o", "down")).isZero();
    }

    void restoreLink(int host) throws IOException, InterruptedException {
        assertThat(run("ip", "link", "set", "hvdssh" + host + "-o", "up")).isZero();
    }

    void powerOff(int host) throws IOException, InterruptedException {
        act("power_off", Integer.toString(host));
    }

    void powerOn(int host) throws IOException, InterruptedException {
        act("power_on", Integer.toString(host));
    }

    /// Empties its temporary folder.
    void clear(int host) throws IOException, InterruptedException {
        assertThat(run("find", temporary(host).toString(), "-mindepth", "1", "-delete")).isZero();
    }

    /// Limits what goes to and comes from a host, such as "2mbit", or skips the test where the kernel cannot.
    void limitBandwidth(int host, String rate) throws IOException, InterruptedException {
        queue(host, "tbf rate " + rate + " burst 32kb latency 100ms");
    }

    /// Holds back all that goes to and comes from a host, such as by "20ms", or skips the test where
    /// the kernel cannot.
    void delay(int host, String time) throws IOException, InterruptedException {
        queue(host, "netem delay " + time + " limit 100000"); // or it would drop packets too
    }

    /// @param kind a kind of queue, by which the kernel sends, and its parameters
    private static void queue(int host, String kind) throws IOException, InterruptedException {
        String name = "hvdssh" + host;
        replaceQueue("tc qdisc replace dev " + name + "-o root " + kind);
        replaceQueue("tc -n " + name + " qdisc replace dev eth0 root " + kind);
    }

    private static void replaceQueue(String command) throws IOException, InterruptedException {
        Process tc = new ProcessBuilder(command.split(" ")).redirectErrorStream(true).start();
        tc.getOutputStream().close();
        String said = new String(tc.getInputStream().readAllBytes(), UTF_8);
        int code = tc.waitFor();
        assumeFalse(
                code != 0 && NO_SUCH_QUEUE.matcher(said).find(),
                () -> "needs a kernel that can do '" + command + "': " + said);
        assertThat(code).as(said).isZero();
    }

    void removeLimits(int host) throws IOException, InterruptedException {
        String name = "hvdssh" + host;
        assertThat(run("tc", "qdisc", "del", "dev", name + "-o", "root")).isZero();
        assertThat(run("tc", "-n", name, "qdisc", "del", "dev", "eth0", "root")).isZero();
    }

    /// The names of shared files on all hosts, which must be there and answer.
    Set<String> sharedFiles() {
        Set<String> names = new HashSet<>();
        for (int host = 1; host <= COUNT; host++) {
            String name = "hvdssh" + host;
            output(name, "ls /dev/shm")
                    .lines()
                    .filter(file -> file.startsWith(SharedMemoryFiles.PREFIX))
                    .forEach(file -> names.add(name + ":" + file));
        }
        return names;
    }

    /// What a command prints on a host.
    private String output(String host, String command) {
        try {
            Process process =
                    new ProcessBuilder(folder().resolve("bin/ssh").toString(), host, command)
                            .redirectErrorStream(true)
                            .start();
            process.getOutputStream().close();
            String said = new String(process.getInputStream().readAllBytes(), UTF_8);
            assertThat(process.waitFor()).as(said).isZero();
            return said;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while asking " + host, e);
        }
    }

    /// Where a host keeps temporary files.
    Path temporary(int host) {
        return folder().resolve("tmp-hvdssh" + host);
    }
}
