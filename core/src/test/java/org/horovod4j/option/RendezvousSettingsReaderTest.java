package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.AbstractThrowableAssert;
import org.horovod4j.ConfigurationException;
import org.horovod4j.file.SecretFile;
import org.horovod4j.option.RendezvousSettings.SecretText;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// How the ranks find each other, by what is set.
class RendezvousSettingsReaderTest {
    private static final Map<String, String> BY_HAND =
            Map.of(
                    "HOROVOD_RANK", "3",
                    "HOROVOD_SIZE", "6",
                    "HOROVOD_RENDEZVOUS_ADDR", "node1",
                    "HOROVOD_RENDEZVOUS_PORT", "4242",
                    "HOROVOD_SECRET_KEY", "hunter2");

    private static final Map<String, String> STEP =
            Map.of(
                    "SLURM_JOB_ID", "17",
                    "SLURM_STEP_ID", "2",
                    "SLURM_PROCID", "3",
                    "SLURM_STEP_NUM_TASKS", "8",
                    "SLURM_STEP_NODELIST", "gpu[07-08]");

    @Test
    void addressPortAndSecretGiveTheServer() {
        assertThat(read(BY_HAND))
                .isEqualTo(
                        new RendezvousSettings.Server(
                                List.of(InetSocketAddress.createUnresolved("node1", 4242)),
                                RendezvousHost.RANK0,
                                new SecretText("hunter2")));
    }

    @Test
    void severalAddressesAreOneServer() {
        assertThat(read(with(BY_HAND, "HOROVOD_RENDEZVOUS_ADDR", "10.0.0.1, [fd00::1],node1")))
                .isInstanceOfSatisfying(
                        RendezvousSettings.Server.class,
                        server ->
                                assertThat(server.addresses())
                                        .extracting(InetSocketAddress::getHostString)
                                        .containsExactly("10.0.0.1", "fd00::1", "node1"));
    }

    @Test
    void anEmptyAddressIsRefused() {
        refused(with(BY_HAND, "HOROVOD_RENDEZVOUS_ADDR", "a,,b"))
                .hasMessageContaining("HOROVOD_RENDEZVOUS_ADDR is 'a,,b'");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"HOROVOD_RENDEZVOUS_ADDR", "HOROVOD_RENDEZVOUS_PORT", "HOROVOD_SECRET_KEY"})
    void incompleteRendezvousIsRefused(String missing) {
        Map<String, String> variables = new HashMap<>(BY_HAND);
        variables.remove(missing);
        refused(variables)
                .hasMessageContaining(
                        "rank 3 of 6 (by HOROVOD_RANK and HOROVOD_SIZE) cannot find the other ranks:"
                                + " these are not set: %s\n",
                        missing)
                .hasMessageContaining("horovodrun")
                .hasMessageContaining("  HOROVOD_SECRET_KEY: The secret of the job");
    }

    @Test
    void secretMayBeInAFileThatIsRemoved(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("secret");
        SecretFile.write(file, "hunter2");
        Map<String, String> variables = with(BY_HAND, "HOROVOD_SECRET_FILE", file.toString());
        assertThat(read(variables)).isEqualTo(read(BY_HAND));
        assertThat(file).as("not needed if the secret itself is given").exists();
        variables.remove("HOROVOD_SECRET_KEY");
        assertThat(read(variables)).isEqualTo(read(BY_HAND));
        assertThat(file).doesNotExist();
        assertThat(read(variables)).as("read again by the same process").isEqualTo(read(BY_HAND));
    }

    @Test
    void slurmStepUsesFileNamedAfterStep() {
        assertThat(read(STEP))
                .isEqualTo(
                        new RendezvousSettings.SharedFolder(
                                Path.of(System.getProperty("user.home"), ".horovod"),
                                "slurm-17.2.0"));
    }

    @Test
    void folderAndJobIdCanBeSet() {
        Map<String, String> variables =
                with(
                        STEP,
                        "HOROVOD_RENDEZVOUS_FOLDER",
                        "/scratch/me/meet",
                        "HOROVOD_JOB_ID",
                        "mine");
        assertThat(read(variables))
                .isEqualTo(
                        new RendezvousSettings.SharedFolder(Path.of("/scratch/me/meet"), "mine"));
    }

    @Test
    void manualRanksWithJobIdUseSharedFolder() {
        assertThat(
                        read(
                                Map.of(
                                        "HOROVOD_RANK", "0",
                                        "HOROVOD_SIZE", "2",
                                        "HOROVOD_JOB_ID", "mine")))
                .isInstanceOf(RendezvousSettings.SharedFolder.class);
        refused(Map.of("HOROVOD_RANK", "0", "HOROVOD_SIZE", "2"))
                .hasMessageContaining("HOROVOD_JOB_ID is enough");
    }

    @Test
    void autoUsesFirstHostAndPortDerivedFromJob() {
        Map<String, String> variables =
                with(STEP, "HOROVOD_RENDEZVOUS_ADDR", "auto", "HOROVOD_SECRET_KEY", "hunter2");
        assertThat(read(variables))
                .isEqualTo(read(with(variables, "SLURM_PROCID", "0")))
                .isInstanceOfSatisfying(
                        RendezvousSettings.Server.class,
                        server -> {
                            assertThat(server.addresses())
                                    .extracting(InetSocketAddress::getHostString)
                                    .containsOnly("gpu07");
                            assertThat(server.ports())
                                    .hasSize(4) // any user may occupy the first
                                    .allMatch(port -> port >= 20_000 && port < 30_000);
                        });
        assertThat(read(with(variables, "HOROVOD_RENDEZVOUS_PORT", "4242")))
                .isInstanceOfSatisfying(
                        RendezvousSettings.Server.class,
                        server -> assertThat(server.ports()).containsExactly(4242));
    }

    @Test
    void autoNeedsASecretAndAScheduler() {
        refused(with(STEP, "HOROVOD_RENDEZVOUS_ADDR", "auto"))
                .hasMessageContaining("Set HOROVOD_SECRET_KEY");
        refused(with(BY_HAND, "HOROVOD_RENDEZVOUS_ADDR", "auto"))
                .hasMessageContaining("inside a step of srun");
    }

    @ParameterizedTest
    @CsvSource({"HOROVOD_RANK, HOROVOD_SIZE", "SLURM_PROCID, SLURM_STEP_NUM_TASKS"})
    void singleProcessHasNoRendezvous(String rank, String size) {
        assertThat(read(Map.of("SLURM_STEP_ID", "0", "SLURM_JOB_ID", "1", rank, "0", size, "1")))
                .isNull();
    }

    private static @Nullable RendezvousSettings read(Map<String, String> variables) {
        return WorkerSettings.from(new Environment(variables)).rendezvousSettings();
    }

    private static AbstractThrowableAssert<?, ?> refused(Map<String, String> variables) {
        return assertThatThrownBy(() -> read(variables)).isInstanceOf(ConfigurationException.class);
    }

    private static Map<String, String> with(Map<String, String> variables, String... more) {
        Map<String, String> all = new HashMap<>(variables);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }
}
