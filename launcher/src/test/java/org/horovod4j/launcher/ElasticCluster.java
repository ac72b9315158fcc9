package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/// Three hosts behind ssh, a discovery script that finds those that a test lists, and elastic jobs there.
final class ElasticCluster {
    /// Silence is noticed soon, though not on a machine that is merely busy; and the log tells when a worker
    /// has a place.
    private static final Map<String, String> NERVOUS =
            Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "8", "HOROVOD_LOG_LEVEL", "info");

    private final SshHosts hosts;
    private final Path folder;
    private int jobs;

    private ElasticCluster(SshHosts hosts, Path folder) {
        this.hosts = hosts;
        this.folder = folder;
    }

    /// Makes it, or skips the test where that is not allowed.
    static ElasticCluster up(Path folder) throws IOException, InterruptedException {
        ElasticCluster cluster = new ElasticCluster(SshHosts.up(folder), folder);
        cluster.script("cat " + folder.resolve("found"));
        return cluster;
    }

    SshHosts hosts() {
        return hosts;
    }

    Path folder() {
        return folder;
    }

    /// Lets the script do something else from now on.
    void script(String text) throws IOException {
        Path next = Files.writeString(folder.resolve("next.sh"), "#!/bin/sh\n" + text + "\n");
        assertThat(next.toFile().setExecutable(true)).isTrue();
        Files.move(next, folder.resolve("found.sh"), StandardCopyOption.ATOMIC_MOVE);
    }

    /// Lets the script find these, from one moment to the next.
    void list(String... found) throws IOException {
        Path next = Files.writeString(folder.resolve("next"), String.join("\n", found) + "\n");
        Files.move(next, folder.resolve("found"), StandardCopyOption.ATOMIC_MOVE);
    }

    /// The cues of a job to come.
    Cues cues() {
        return new Cues(folder.resolve("end-" + jobs++));
    }

    /// Starts a job that trains until [ElasticRun#finish], in steps of 50 ms.
    ///
    /// @param flags of horovodrun, as one line
    /// @param misdeeds of the workers, see [ElasticTrainer]
    ElasticRun start(String flags, Cues cues, String... misdeeds) throws IOException {
        return launch(
                "%s --host-discovery-script %s".formatted(flags, folder.resolve("found.sh")),
                cues,
                misdeeds);
    }

    /// Starts such a job on the hosts that its flags name, without the script.
    ElasticRun startFixed(String flags, Cues cues, String... misdeeds) throws IOException {
        return launch(flags, cues, misdeeds);
    }

    private ElasticRun launch(String flags, Cues cues, String... misdeeds) throws IOException {
        SharedFiles before = SharedFiles.present();
        Supplier<Set<String>> left =
                () -> {
                    Set<String> names = new HashSet<>(before.added());
                    names.addAll(hosts.sharedFiles());
                    return names;
                };
        String[] words =
                ElasticRun.words(
                        flags + " --blacklist-cooldown-range 2 2",
                        "%s 50 %s".formatted(cues.end(), String.join(" ", misdeeds)));
        return new ElasticRun(hosts.start(NERVOUS, words), cues, left);
    }

    void down() throws IOException, InterruptedException {
        hosts.down();
    }
}
