package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Hvd;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/// Jobs over three hosts with two ranks each, through real ssh: successes, failures, and that
/// neither leaves anything behind. For slow hosts see [SlowNetworkIT].
@Tag("slow")
class SshHostsIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Map<String, String> SHORT_HEARTBEAT =
            Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "8");
    private static final String WAIT =
            "setsid sleep 1001 & echo job=$HOROVOD_JOB_ID; exec sleep 1000";

    @RegisterExtension static final SshCluster hosts = new SshCluster();

    /// Six ranks that compute sums forever.
    private static LauncherProcess startSums(Map<String, String> variables) throws IOException {
        return hosts.startOnAll(
                variables,
                "java",
                "-cp",
                TestJvm.CLASS_PATH,
                SumOfRanks.class.getName(),
                "endless");
    }

    @Test
    void sixRanksReduceOverThreeHosts() throws Exception {
        try (LauncherProcess launcher =
                hosts.startOnAll(
                        Map.of(), "java", "-cp", TestJvm.CLASS_PATH, SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.awaitOutput("sum=(15)", 6)).hasSize(6);
            assertThat(launcher.stderr()).doesNotContain("horovodrun: ", "incubator");
            assertNothingLeft(launcher.awaitJobId());
        }
    }

    @Test
    void ranksRunOnDifferentHosts() throws Exception {
        try (LauncherProcess launcher = hosts.startOnAll(Map.of(), "hostname")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout().lines())
                    .contains("[0]<stdout>:hvdssh1", "[3]<stdout>:hvdssh2", "[5]<stdout>:hvdssh3");
        }
    }

    @Test
    void secretIsOnNoCommandLineAndInNoEnvironment() throws Exception {
        String program = "echo key=$(cat $HOROVOD_SECRET_FILE); exec sleep 1000";
        try (LauncherProcess launcher = hosts.startOnAll(Map.of(), "sh", "-c", program)) {
            String secret = launcher.awaitOutput("key=(\\S{43})", 6).getFirst();
            await().atMost(TIMEOUT)
                    .until(() -> Processes.withCommandLine("sleep\0" + "1000").size() >= 6);
            assertThat(Processes.withCommandLine(secret)).isEmpty();
            assertThat(Processes.withVariable(secret)).isEmpty();
        }
    }

    @Test
    void failingRankEndsOthersOnAllHosts() throws Exception {
        String ready = hosts.folder().resolve("ready").toString();
        try (LauncherProcess launcher =
                hosts.startOnAll(Map.of(), "sh", "-c", TestCommands.RANK_3_FAILS, ready)) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("First to fail was rank 3 on hvdssh2", "exit code 3.")
                    .contains("    disk full\n", "The other processes had ended");
            assertNothingLeft(launcher.awaitJobId());
        }
    }

    @Test
    void ctrlCEndsJobOnAllHosts() throws Exception {
        try (LauncherProcess launcher = hosts.startOnAll(Map.of(), "sh", "-c", WAIT)) {
            launcher.awaitOutput("job=(\\S+)", 6);
            launcher.signal("INT");
            assertThat(launcher.exitCode()).isEqualTo(130);
            assertThat(launcher.stderr()).contains("ended by SIGINT");
            assertNothingLeft(launcher.awaitJobId());
        }
    }

    @Test
    void killedLauncherLeavesNoProcessesOnAnyHost() throws Exception {
        try (LauncherProcess launcher = hosts.startOnAll(Map.of(), "sh", "-c", WAIT)) {
            launcher.awaitOutput("job=(\\S+)", 6);
            launcher.signal("KILL");
            assertNothingLeft(launcher.awaitJobId());
        }
    }

    @Test
    void killedRankIsReportedWithHostAndSignal() throws Exception {
        try (LauncherProcess launcher = startSums(Map.of())) {
            launcher.awaitOutput("sum=(15)", 6);
            String job = launcher.awaitJobId();
            Processes.signal("KILL", Processes.ofRank(job, 4));
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("First to fail was rank 4 on hvdssh3", "killed by signal 9 (SIGKILL)")
                    .containsPattern(
                            "PeerLostException: rank 4 on hvdssh3 is lost:"
                                    + " (killed by signal 9|its connection)");
            assertNothingLeft(job);
        }
    }

    @Test
    void killedSshIsHostLoss() throws Exception {
        try (LauncherProcess launcher = startSums(Map.of())) {
            launcher.awaitOutput("sum=(15)", 6);
            String job = launcher.awaitJobId();
            long ssh =
                    ProcessHandle.of(launcher.pid()).stream()
                            .flatMap(ProcessHandle::children)
                            .map(ProcessHandle::pid)
                            .filter(Processes.withCommandLine("\0hvdssh2\0")::contains)
                            .findFirst()
                            .orElseThrow();
            Processes.signal("KILL", ssh);
            assertSshKilled(launcher);
            assertNothingLeft(job);
        }
    }

    /// The agent on the second host.
    private static long agent() {
        return Processes.withCommandLine(hosts.temporary(2) + "/horovod4j.").stream()
                .filter(Processes.withCommandLine("remote.Agent")::contains)
                .max(Long::compare) // its shell is older
                .orElseThrow();
    }

    @Test
    void killedAgentIsHostLoss() throws Exception {
        try (LauncherProcess launcher = startSums(Map.of())) {
            launcher.awaitOutput("sum=(15)", 6);
            String job = launcher.awaitJobId();
            long agent = agent();
            Processes.signal("KILL", agent);
            assertSshKilled(launcher);
            assertNothingLeft(job);
        }
    }

    @Test
    void stoppedAgentIsHostLoss() throws Exception {
        try (LauncherProcess launcher = startSums(SHORT_HEARTBEAT)) {
            launcher.awaitOutput("sum=(15)", 6);
            String job = launcher.awaitJobId();
            long agent = agent();
            Processes.signal("STOP", agent);
            assertLost(launcher, "it was silent for the heartbeat timeout of 8 s");
            Processes.signal("CONT", agent);
            assertNothingLeft(job);
        }
    }

    @Test
    void cutLinkIsDetectedOnBothSides() throws Exception {
        try (LauncherProcess launcher = startSums(SHORT_HEARTBEAT)) {
            launcher.awaitOutput("sum=(15)", 6);
            String job = launcher.awaitJobId();
            hosts.cutLink(2);
            assertLost(launcher, "it was silent for the heartbeat timeout of 8 s");
            assertThat(launcher.stderr())
                    .contains("rank 2 on hvdssh2 is lost: contact with its host was lost");
            assertNothingLeft(job); // also beyond the cut link
        } finally {
            hosts.restoreLink(2);
        }
    }

    @Test
    void poweredOffHostIsDetected() throws Exception {
        try (LauncherProcess launcher = startSums(SHORT_HEARTBEAT)) {
            launcher.awaitOutput("sum=(15)", 6);
            String job = launcher.awaitJobId();
            hosts.powerOff(2);
            assertLost(launcher, "it was silent for the heartbeat timeout of 8 s");
            await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        } finally {
            hosts.powerOn(2);
            hosts.clear(2); // it had no time to remove this
        }
    }

    @Test
    void everyUnreadyHostIsReported() throws Exception {
        Path started = hosts.folder().resolve("started");
        try (LauncherProcess launcher =
                hosts.start(
                        Map.of(),
                        "-np",
                        "7",
                        "-H",
                        "hvdssh1:1,hvdssh-unknown:1,hvdssh-changed:1,hvdssh-closed:1"
                                + ",hvdssh-nowhere:1,hvdssh-keyless:1,hvdssh-nameless.invalid:1",
                        "touch",
                        started.toString())) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr().lines().toList())
                    .satisfiesExactlyInAnyOrder(
                            line -> assertThat(line).contains("6 of 7 hosts are not ready"),
                            line -> assertThat(line).contains("-unknown is not ready: ssh does"),
                            line -> assertThat(line).contains("-changed is not ready: its host"),
                            line -> assertThat(line).contains("refuses connections to port 23."),
                            line ->
                                    assertThat(line)
                                            .contains("-nowhere is not ready: no connection"),
                            line -> assertThat(line).contains("-keyless is not ready: it refuses"),
                            line -> assertThat(line).contains("its name cannot be resolved"));
            assertThat(started).doesNotExist();
        }
        assertNoFilesLeft();
    }

    @Test
    void hostMayHaveOwnPortAndKey() throws Exception {
        String key = hosts.folder().resolve("id").toString();
        try (LauncherProcess launcher =
                hosts.start("-np", "1", "-H", "10.78.0.3:1", "-p", "2222", "-i", key, "hostname")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout()).isEqualTo("[0]<stdout>:hvdssh3\n");
        }
        try (LauncherProcess launcher =
                hosts.start("-np", "1", "-H", "10.78.0.3:1", "-p", "22", "hostname")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("10.78.0.3 is not ready: it refuses connections to port 22.");
        }
    }

    @Test
    void hostMayBeIpv6Address() throws Exception {
        try (LauncherProcess launcher =
                hosts.start(
                        "-np",
                        "2",
                        "-H",
                        "[fd78::3]:2",
                        "-p",
                        "2222",
                        "--network-interfaces",
                        "hvdsshbr6,eth1",
                        "java",
                        "-cp",
                        TestJvm.CLASS_PATH,
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.awaitOutput("sum=(1)", 2)).hasSize(2);
        }
    }

    @Test
    void missingOrOldJavaIsNamed() throws Exception {
        try (LauncherProcess launcher =
                hosts.start("-np", "1", "-H", "hvdssh1:1", "--java", "/no/java", "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("hvdssh1 is not ready: it has no java (tried /no/java).");
        }
        Path old = hosts.folder().resolve("old-java");
        Files.writeString(old, "#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n");
        assertThat(old.toFile().setExecutable(true)).isTrue();
        try (LauncherProcess launcher =
                hosts.start("-np", "1", "-H", "hvdssh1:1", "--java", old.toString(), "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr()).contains("too old (" + old + " is version 17).");
        }
    }

    @Test
    void missingProgramFilesAreCopiedToHost() throws Exception {
        // The third host has neither: its mounts hide the folder.
        Path program = hosts.folder().resolve("hidden/say.sh");
        Path lib = Files.createDirectories(hosts.folder().resolve("hidden/lib/deep"));
        Files.writeString(program, "#!/bin/sh\ncat \"$1\"/deep/word; wc -c <\"$1\"/large\n");
        assertThat(program.toFile().setExecutable(true)).isTrue();
        Files.writeString(lib.resolve("word"), "copied\n");
        Files.write(hosts.folder().resolve("hidden/lib/large"), new byte[1_000_000]);
        String path = hosts.folder().resolve("hidden/lib").toString();
        try (LauncherProcess launcher =
                hosts.start(
                        "-np",
                        "1",
                        "-H",
                        "hvdssh3:1",
                        "--copy",
                        program.toString(),
                        "--copy",
                        path,
                        program.toString(),
                        path)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout()).isEqualTo("[0]<stdout>:copied\n[0]<stdout>:1000000\n");
        }
        try (LauncherProcess launcher =
                hosts.start("-np", "1", "-H", "hvdssh3:1", program.toString(), path)) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("hvdssh3 is not ready: command '" + program + "' not found");
        }
        assertNoFilesLeft();
    }

    /// The third host has none of these jars; other ranks use the existing ones.
    @Test
    void missingApplicationJarRunsFromCopy() throws Exception {
        Path jar = Files.createDirectories(hosts.folder().resolve("hidden/app")).resolve("sum.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            String name = SumOfRanks.class.getName().replace('.', '/') + ".class";
            out.putNextEntry(new JarEntry(name));
            try (InputStream type = SumOfRanks.class.getResourceAsStream("/" + name)) {
                Objects.requireNonNull(type).transferTo(out);
            }
            out.closeEntry();
        }
        String core =
                Path.of(Hvd.class.getProtectionDomain().getCodeSource().getLocation().toURI())
                        .toString();
        try (LauncherProcess launcher =
                hosts.start(
                        "-np",
                        "2",
                        "-H",
                        "hvdssh1:1,hvdssh3:1",
                        "--copy",
                        jar.toString(),
                        "java",
                        "-cp",
                        jar + ":" + core,
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.awaitOutput("sum=(1)", 2)).hasSize(2);
        }
        assertNoFilesLeft();
    }

    /// The host ends its ranks at once, and they may report that before `ssh` has ended.
    private static void assertSshKilled(LauncherProcess launcher) throws Exception {
        assertLost(
                launcher,
                "ssh ended \\(killed by signal 9 \\(SIGKILL\\)\\)",
                "(contact with its host was lost|its process has ended)");
    }

    private static void assertLost(LauncherProcess launcher, String reason) throws Exception {
        assertLost(launcher, reason, "contact with its host was lost");
    }

    private static void assertLost(LauncherProcess launcher, String reason, String failure)
            throws Exception {
        assertThat(launcher.exitCode()).isOne();
        assertThat(launcher.stderr())
                .containsPattern("lost contact with host hvdssh2 \\(ranks 2, 3\\): " + reason)
                .containsPattern("First to fail was rank [23] on hvdssh2 .*: " + failure)
                .contains("The other processes had ended");
    }

    private static void assertNothingLeft(String job) {
        await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        await().atMost(TIMEOUT).until(() -> Processes.watchdogsOf(job).isEmpty());
        assertNoFilesLeft();
    }

    private static void assertNoFilesLeft() {
        for (int host = 1; host <= 3; host++) {
            Path temporary = hosts.temporary(host);
            await().atMost(TIMEOUT).untilAsserted(() -> assertThat(temporary).isEmptyDirectory());
        }
    }
}
