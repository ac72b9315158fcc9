package org.horovod4j.testsupport;

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
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/// Three hosts with an sshd each, made of namespaces. `hosts.sh` describes their network.
///
/// A test class registers them as a static extension. They exist from its first test to its last.
/// Without the right to create them the class is skipped. The names and addresses of the hosts are
/// fixed, so only one test class of a machine can have them at a time.
public class SshHosts implements BeforeAllCallback, AfterAllCallback {
    private static final int COUNT = 3;

    /// The error of `tc` if the kernel lacks a kind of queue, in new and old versions.
    private static final Pattern NO_SUCH_QUEUE =
            Pattern.compile(
                    "qdisc kind is unknown|qdisc not found|RTNETLINK answers: No such file");

    private @Nullable Path folder;

    @Override
    public void beforeAll(ExtensionContext context) throws IOException, InterruptedException {
        assumeTrue(
                Processes.run("sh", "-c", "[ $(id -u) = 0 ] && ip netns list && unshare --net true")
                        == 0,
                "needs root and network namespaces");
        folder = Files.createTempDirectory("hvdssh");
        try (InputStream text = SshHosts.class.getResourceAsStream("hosts.sh")) {
            Files.copy(Objects.requireNonNull(text), script());
        }
        act("up");
    }

    /// Runs after a failure of [#beforeAll] too, and removes what exists.
    @Override
    public void afterAll(ExtensionContext context) throws IOException, InterruptedException {
        if (folder != null) {
            act("down");
            assertThat(Processes.run("rm", "-rf", folder.toString())).isZero();
        }
    }

    private Path script() {
        return folder().resolve("hosts.sh");
    }

    private void act(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("sh", script().toString(), words[0]));
        command.add(folder().toString());
        command.addAll(List.of(words).subList(1, words.length));
        Processes.output(command);
    }

    /// The `PATH` of a program that reaches the hosts through `ssh`.
    public String path() {
        return folder().resolve("bin") + ":" + System.getenv("PATH");
    }

    /// A folder that all hosts see, with the files of `hosts.sh` and those of a test.
    public Path folder() {
        return Objects.requireNonNull(folder, "the hosts are not running");
    }

    public void cutLink(int host) throws IOException, InterruptedException {
        assertThat(Processes.run("ip", "link", "set", "hvdssh" + host + "-o", "down")).isZero();
    }

    public void restoreLink(int host) throws IOException, InterruptedException {
        assertThat(Processes.run("ip", "link", "set", "hvdssh" + host + "-o", "up")).isZero();
    }

    public void powerOff(int host) throws IOException, InterruptedException {
        act("power_off", Integer.toString(host));
    }

    public void powerOn(int host) throws IOException, InterruptedException {
        act("power_on", Integer.toString(host));
    }

    /// Connects the first two hosts by a second network, with interface `eth1`. This machine is not
    /// in it.
    public void addSecondNetwork() throws IOException, InterruptedException {
        act("second_up");
    }

    public void removeSecondNetwork() throws IOException, InterruptedException {
        act("second_down");
    }

    /// Empties its temporary folder.
    public void clear(int host) throws IOException, InterruptedException {
        assertThat(Processes.run("find", temporary(host).toString(), "-mindepth", "1", "-delete"))
                .isZero();
    }

    /// Limits the bandwidth to and from a host, such as "2mbit". Skips the test if the kernel cannot.
    public void limitBandwidth(int host, String rate) throws IOException, InterruptedException {
        queue(host, "tbf rate " + rate + " burst 32kb latency 100ms");
    }

    /// Delays all packets to and from a host, such as by "20ms". Skips the test if the kernel
    /// cannot.
    public void delay(int host, String time) throws IOException, InterruptedException {
        queue(host, "netem delay " + time + " limit 100000"); // or it would drop packets too
    }

    /// @param kind a queueing discipline of `tc`, with its parameters
    private static void queue(int host, String kind) throws IOException, InterruptedException {
        String name = "hvdssh" + host;
        replaceQueue("tc qdisc replace dev " + name + "-o root " + kind);
        replaceQueue("tc -n " + name + " qdisc replace dev eth0 root " + kind);
    }

    private static void replaceQueue(String command) throws IOException, InterruptedException {
        Process tc = new ProcessBuilder(command.split(" ")).redirectErrorStream(true).start();
        tc.getOutputStream().close();
        String output = new String(tc.getInputStream().readAllBytes(), UTF_8);
        int code = tc.waitFor();
        assumeFalse(
                code != 0 && NO_SUCH_QUEUE.matcher(output).find(),
                () -> "needs a kernel that can do '" + command + "': " + output);
        assertThat(code).as(output).isZero();
    }

    public void removeLimits(int host) throws IOException, InterruptedException {
        String name = "hvdssh" + host;
        assertThat(Processes.run("tc", "qdisc", "del", "dev", name + "-o", "root")).isZero();
        assertThat(Processes.run("tc", "-n", name, "qdisc", "del", "dev", "eth0", "root")).isZero();
    }

    /// The names of shared-memory files on all hosts. All hosts must be reachable.
    public Set<String> sharedFiles() {
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

    /// Runs a command on a host and returns what it prints.
    private String output(String host, String command) {
        try {
            return Processes.output(List.of(folder().resolve("bin/ssh").toString(), host, command));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while running a command on " + host, e);
        }
    }

    /// The folder for temporary files of a host.
    public Path temporary(int host) {
        return folder().resolve("tmp-hvdssh" + host);
    }
}
