package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Map;

/// Elastic jobs over three hosts, through real ssh: hosts come, go, are switched off and cut off.
@Tag("slow")
class ElasticSshIT {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Map<String, String> NERVOUS = Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "4");

    @TempDir static Path folder;
    private static SshHosts hosts;
    private Path end;

    @BeforeAll
    static void up() throws Exception {
        hosts = SshHosts.up(folder);
        Path script = folder.resolve("found.sh");
        Files.writeString(script, "#!/bin/sh\ncat %s\n".formatted(folder.resolve("found")));
        assertThat(script.toFile().setExecutable(true)).isTrue();
    }

    @AfterAll
    static void down() throws Exception {
        if (hosts != null) {
            hosts.down();
        }
    }

    @BeforeEach
    void anEndThatIsNotThereYet() throws IOException {
        end = folder.resolve("end");
        Files.deleteIfExists(end);
    }

    private ElasticRun start(String... found) throws IOException {
        list(found);
        return new ElasticRun(
                hosts.start(
                        NERVOUS,
                        ElasticRun.words(
                                "-np 2 --min-np 1 --blacklist-cooldown-range 2 2"
                                        + " --host-discovery-script "
                                        + folder.resolve("found.sh"),
                                end + " 50")));
    }

    @Test
    void aHostIsAddedAndAnotherTakenAway() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh2:1")) {
            run.awaitStep(5, 2);
            list("hvdssh1:1", "hvdssh2:1", "hvdssh3:1");
            run.awaitStep(6, 3);
            list("hvdssh2:1", "hvdssh3:1");
            run.awaitError("generation 2: 2 workers \\(hvdssh2:1, hvdssh3:1\\)");
            finish(run, 2);
        }
    }

    @Test
    void aHostThatLosesItsPowerIsLeftBehindAndComesBack() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh2:1", "hvdssh3:1")) {
            run.awaitStep(5, 3);
            hosts.powerOff(1);
            run.awaitError("lost contact with host hvdssh1 \\(worker \\d+\\)");
            run.awaitStep(6, 2);
            hosts.powerOn(1);
            run.awaitError("(?s)lost contact with host hvdssh1.*generation \\d+: 3 workers");
            finish(run, 3);
        }
    }

    @Test
    void aLinkThatIsCutAndMendedCostsNoMoreThanItsHost() throws Exception {
        try (ElasticRun run = start("hvdssh1:2", "hvdssh2:1")) {
            run.awaitStep(5, 3);
            hosts.cutLink(2);
            run.awaitStep(6, 2);
            hosts.mendLink(2);
            run.awaitError("(?s)lost contact with host hvdssh2.*generation \\d+: 3 workers");
            finish(run, 3);
        }
    }

    @Test
    void aHostThatIsNotReadyKeepsNobodyWaiting() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh-closed:1", "hvdssh2:1")) {
            run.awaitError("host hvdssh-closed is not ready: it refuses connections to port 23");
            run.awaitStep(5, 2);
            finish(run, 2);
        }
    }

    @Test
    void nothingOnAnyHostOutlivesALauncherThatIsKilled() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh2:1")) {
            run.awaitStep(5, 2);
            run.launcher().signal("KILL");
            run.assertNothingLeft();
        }
    }

    /// Ends the training, which must have been the same on all ranks and lost nothing.
    private void finish(ElasticRun run, int size) throws Exception {
        Files.createFile(end);
        assertThat(run.launcher().exitCode(PATIENCE)).as(run::tail).isZero();
        run.assertSameResults(size);
        await().atMost(PATIENCE).until(() -> Processes.ofJob(run.jobId()).isEmpty());
    }

    private static void list(String... found) throws IOException {
        Path next = Files.writeString(folder.resolve("next"), String.join("\n", found) + "\n");
        Files.move(next, folder.resolve("found"), StandardCopyOption.ATOMIC_MOVE);
    }
}
