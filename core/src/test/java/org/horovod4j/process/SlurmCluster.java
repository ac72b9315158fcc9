package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.testsupport.SimulatedHost;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/// A real Slurm on this machine: a controller and two nodes with four slots each, which are
/// simulated hosts. It needs root. It does not touch the machine's own Slurm.
final class SlurmCluster implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Path folder;
    private final List<Process> daemons = new ArrayList<>();
    private final List<SimulatedHost> nodes = new ArrayList<>();

    /// Starts all daemons, and waits until the nodes are ready.
    ///
    /// @param folder an empty folder for all their files
    SlurmCluster(Path folder) throws IOException, InterruptedException {
        this.folder = folder;
        boolean ready = false;
        try {
            start();
            ready = true;
        } finally {
            if (!ready) {
                close();
            }
        }
    }

    private void start() throws IOException, InterruptedException {
        for (String each : List.of("munge", "ctld", "spool/n1", "spool/n2", "tmp-n1", "tmp-n2")) {
            Files.createDirectories(folder.resolve(each));
        }
        Path munge = folder.resolve("munge");
        allow(folder, "rwx--x--x"); // munge wants its socket to be within everybody's reach
        allow(munge, "rwxr-xr-x");
        daemon(
                "munged",
                "--foreground",
                "--key-file=" + key(munge),
                "--socket=" + munge.resolve("socket"),
                "--pid-file=" + munge.resolve("pid"),
                "--log-file=" + munge.resolve("log"),
                "--seed-file=" + munge.resolve("seed"));
        Files.writeString(folder.resolve("slurm.conf"), configuration());
        daemon("slurmctld", "-D", "-f", configurationFile());
        node("n1");
        node("n2");
        await().atMost(TIMEOUT)
                .untilAsserted(
                        () ->
                                assertThat(run("sinfo", "-h", "-t", "idle", "-o", "%D").strip())
                                        .as(() -> String.join("\n", logs()))
                                        .isEqualTo("2"));
    }

    private static Path key(Path munge) throws IOException {
        byte[] key = new byte[128];
        new SecureRandom().nextBytes(key);
        return allow(Files.write(munge.resolve("key"), key), "rw-------");
    }

    private static Path allow(Path path, String permissions) throws IOException {
        return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    }

    private String configuration() throws IOException {
        return """
        ClusterName=test
        SlurmctldHost=localhost(127.0.0.1)
        SlurmUser=root
        SlurmdUser=root
        AuthType=auth/munge
        AuthInfo=socket=%1$s/munge/socket
        SlurmctldPort=%2$d
        SlurmctldPidFile=%1$s/slurmctld.pid
        SlurmdPidFile=%1$s/slurmd-%%n.pid
        StateSaveLocation=%1$s/ctld
        SlurmdSpoolDir=%1$s/spool/%%n
        TmpFS=%1$s/tmp-%%n
        ProctrackType=proctrack/linuxproc
        TaskPlugin=task/none
        JobAcctGatherType=jobacct_gather/none
        SelectType=select/cons_tres
        SelectTypeParameters=CR_CPU
        SlurmdParameters=config_overrides
        ReturnToService=2
        NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=%3$d CPUs=4 RealMemory=1000
        NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=%4$d CPUs=4 RealMemory=1000
        PartitionName=debug Nodes=ALL Default=YES State=UP OverSubscribe=YES
        """
                .formatted(folder, freePort(), freePort(), freePort());
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    /// Ranks would notice that two nodes are one machine, so each is a host of its own.
    private void node(String name) throws IOException, InterruptedException {
        SimulatedHost node = new SimulatedHost();
        nodes.add(node);
        List<String> command = new ArrayList<>(List.of(node.commandPrefix()));
        command.addAll(List.of("slurmd", "-D", "-N", name, "-f", configurationFile()));
        daemon(command.toArray(String[]::new));
    }

    private void daemon(String... command) throws IOException {
        // Java looks a program up in its own PATH, which need not have the folders of root.
        List<String> words = new ArrayList<>(List.of("env"));
        words.addAll(List.of(command));
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().put("PATH", System.getenv("PATH") + ":/usr/sbin:/sbin");
        builder.redirectErrorStream(true);
        builder.redirectOutput(folder.resolve("log-" + daemons.size()).toFile());
        daemons.add(builder.start());
    }

    private String configurationFile() {
        return folder.resolve("slurm.conf").toString();
    }

    /// Runs a command of a user, such as `srun`, which must succeed.
    ///
    /// @return its output
    String run(String... command) throws IOException {
        return run(Map.of(), List.of(command));
    }

    String run(Map<String, String> variables, List<String> command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("SLURM"));
        builder.environment().put("SLURM_CONF", configurationFile());
        builder.environment().putAll(variables);
        builder.directory(folder.toFile());
        builder.redirectErrorStream(true);
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.onExit().join().exitValue()).as(output).isZero();
        return output;
    }

    private List<String> logs() {
        List<String> logs = new ArrayList<>();
        for (int each = 0; each < daemons.size(); each++) {
            try {
                logs.add(Files.readString(folder.resolve("log-" + each)));
            } catch (IOException e) {
                logs.add("no log: " + e);
            }
        }
        return logs;
    }

    @Override
    public void close() {
        for (Process daemon : daemons.reversed()) {
            daemon.destroy();
            try {
                if (!daemon.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
                    daemon.destroyForcibly();
                }
            } catch (InterruptedException e) {
                daemon.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
        nodes.forEach(SimulatedHost::close);
    }
}
