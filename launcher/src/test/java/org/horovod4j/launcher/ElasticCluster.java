package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.SharedMemoryFiles;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/// Three hosts behind ssh, a discovery script that prints the hosts a test lists, and elastic jobs
/// there. A test class registers it as a static extension, like [SshCluster].
final class ElasticCluster implements BeforeAllCallback, AfterAllCallback {
    /// A heartbeat timeout that is short, but long enough for a busy machine. The log shows when a
    /// worker gets a place.
    private static final Map<String, String> SHORT_HEARTBEAT =
            Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "8", "HOROVOD_LOG_LEVEL", "info");

    private final SshCluster hosts = new SshCluster();
    private int jobs;

    @Override
    public void beforeAll(ExtensionContext context) throws IOException, InterruptedException {
        hosts.beforeAll(context);
        script("cat " + folder().resolve("found"));
    }

    @Override
    public void afterAll(ExtensionContext context) throws IOException, InterruptedException {
        hosts.afterAll(context);
    }

    SshCluster hosts() {
        return hosts;
    }

    Path folder() {
        return hosts.folder();
    }

    /// Replaces the script.
    void script(String text) throws IOException {
        Path next = Files.writeString(folder().resolve("next.sh"), "#!/bin/sh\n" + text + "\n");
        assertThat(next.toFile().setExecutable(true)).isTrue();
        Files.move(next, folder().resolve("found.sh"), StandardCopyOption.ATOMIC_MOVE);
    }

    /// Makes the script find these hosts. The change is atomic.
    void setHosts(String... found) throws IOException {
        Path next = Files.writeString(folder().resolve("next"), String.join("\n", found) + "\n");
        Files.move(next, folder().resolve("found"), StandardCopyOption.ATOMIC_MOVE);
    }

    /// Signals for a new job.
    FileSignals newSignals() {
        return new FileSignals(folder().resolve("end-" + jobs++));
    }

    /// Starts a job that trains until [ElasticRun#finish], in steps of 50 ms.
    ///
    /// @param flags of horovodrun, as one line
    /// @param faults of the workers, see [ElasticTrainer]
    ElasticRun start(String flags, FileSignals fileSignals, String... faults) throws IOException {
        return launch(
                "%s --host-discovery-script %s".formatted(flags, folder().resolve("found.sh")),
                fileSignals,
                faults);
    }

    /// Starts a job on the hosts that its flags name, without the script.
    ElasticRun startFixed(String flags, FileSignals fileSignals, String... faults)
            throws IOException {
        return launch(flags, fileSignals, faults);
    }

    private ElasticRun launch(String flags, FileSignals fileSignals, String... faults)
            throws IOException {
        SharedMemoryFiles before = SharedMemoryFiles.snapshot();
        Supplier<Set<?>> left =
                () -> {
                    Set<Object> names = new HashSet<>(before.added());
                    names.addAll(hosts.sharedFiles());
                    return names;
                };
        String[] words =
                ElasticRun.launcherArguments(
                        flags + " --blacklist-cooldown-range 2 2",
                        "%s 50 %s".formatted(fileSignals.end(), String.join(" ", faults)));
        return new ElasticRun(hosts.start(SHORT_HEARTBEAT, words), fileSignals, left);
    }
}
