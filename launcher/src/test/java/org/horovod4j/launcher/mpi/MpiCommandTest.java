package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.option.LocalHostName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

class MpiCommandTest {
    private static final List<String> EXPORTED = List.of("HOROVOD_SECRET_KEY", "PATH");

    @ParameterizedTest
    @CsvSource({
        "mpirun (Open MPI) 4.1.4, OPEN_MPI",
        "mpirun.openmpi (OpenRTE) 4.1.4, OPEN_MPI",
        "mpirun (IBM Spectrum MPI) 10.3.0.1rtm4, SPECTRUM_MPI",
        "HYDRA build details:, MPICH",
        "'Intel(R) MPI Library for Linux* OS, Version 2021.9', INTEL_MPI"
    })
    void kindIsFoundFromVersion(String version, MpiKind kind) {
        assertThat(MpiKind.of(version)).contains(kind);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "mpirun: illegal option --version", "MVAPICH2 9"})
    void unknownVersionHasNoKind(String version) {
        assertThat(MpiKind.of(version)).isEmpty();
    }

    @Test
    void openMpiGetsHostsWithSlotsAndVariablesByName() {
        assertThat(words(MpiKind.OPEN_MPI, job(6, "a:4,b:4")))
                .isEqualTo(
                        "mpirun --allow-run-as-root -np 6 -H a:4,b:2 --tag-output"
                                + " --bind-to none --map-by slot -x HOROVOD_SECRET_KEY -x PATH");
    }

    @Test
    void hydraGetsHostsAndProcessesForEach() {
        assertThat(words(MpiKind.MPICH, job(3, "a:2,b:2")))
                .isEqualTo(
                        "mpirun -n 3 -hosts a,b -ppn 2 -prepend-rank -bind-to none"
                                + " -genvlist HOROVOD_SECRET_KEY,PATH");
    }

    /// Otherwise its proxies on other hosts would connect to their own loopback interface.
    @Test
    void hydraGetsHostNameInsteadOfLocalhost() {
        assertThat(words(MpiKind.MPICH, job(2, "localhost:1,b:1")))
                .contains(" -localhost " + LocalHostName.find() + " ");
        assertThat(words(MpiKind.MPICH, job(2, "localhost:1,127.0.0.1:1")))
                .doesNotContain("-localhost");
        assertThat(words(MpiKind.MPICH, job(2, "a:1,b:1"))).doesNotContain("-localhost");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a:2,b:1,c:2", "a:1,b:2"})
    void hydraRejectsUnequalHosts(String hosts) {
        MpiJob job = job(Host.list(hosts).stream().mapToInt(Host::slots).sum(), hosts);
        assertThatThrownBy(() -> words(MpiKind.MPICH, job))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(hosts)
                .hasMessageContaining("same number of slots");
        assertThat(words(MpiKind.OPEN_MPI, job)).contains("-H " + hosts);
    }

    @Test
    void manyHostsAreNotStartedInATree() {
        String hosts =
                String.join(",", IntStream.range(0, 64).mapToObj(i -> "h" + i + ":1").toList());
        assertThat(words(MpiKind.OPEN_MPI, job(64, hosts)))
                .contains("-mca plm_rsh_no_tree_spawn true -mca plm_rsh_num_concurrent 64");
        assertThat(words(MpiKind.OPEN_MPI, job(63, hosts))).doesNotContain("plm_rsh");
    }

    @Test
    void argumentsOfTheUserComeLastAndReplaceTheBinding() {
        MpiJob job =
                new MpiJob(
                        2,
                        Host.list("a:2"),
                        List.of(List.of("true")),
                        List.of("--mca", "x", "y"),
                        List.of("--bind-to", "socket"),
                        true,
                        List.of("eth0", "ib0"),
                        Path.of("out"),
                        true);
        assertThat(words(MpiKind.SPECTRUM_MPI, job))
                .isEqualTo(
                        "mpirun --allow-run-as-root -np 2 -H a:2 --tag-output"
                                + " --bind-to socket -mca btl_tcp_if_include eth0,ib0"
                                + " -mca oob_tcp_if_include eth0,ib0 -mca pml ob1 -mca btl tcp,self"
                                + " --timestamp-output --output-filename out -x HOROVOD_SECRET_KEY"
                                + " -x PATH -x NCCL_IB_DISABLE --mca x y");
        assertThatThrownBy(() -> words(MpiKind.MPICH, job))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("--output-filename");
    }

    @Test
    void hydraUsesTcpThroughVariables() {
        MpiJob job =
                new MpiJob(
                        2,
                        Host.list("a:2"),
                        List.of(List.of("true")),
                        List.of(),
                        List.of(),
                        true,
                        List.of("eth0"),
                        null,
                        false);
        MpiCommand command = command(MpiKind.INTEL_MPI, job);
        assertThat(command.variables()).containsEntry("FI_PROVIDER", "tcp");
        assertThat(String.join(" ", command.commandLine()))
                .contains("-iface eth0")
                .endsWith("-genvlist HOROVOD_SECRET_KEY,PATH,FI_PROVIDER,NCCL_IB_DISABLE");
    }

    @Test
    void loginIsPassedToSsh() {
        Login login = new Login("me", 2222, Path.of("/keys/id"));
        MpiJob job = job(2, List.of(new Host("a", 1, login), new Host("b", 1, login)));
        assertThat(words(MpiKind.OPEN_MPI, job))
                .contains("-mca plm_rsh_args -p 2222 -i /keys/id -l me");
        assertThat(command(MpiKind.MPICH, job).variables())
                .containsEntry("HYDRA_LAUNCHER_EXTRA_ARGS", "-p 2222 -i /keys/id -l me");

        MpiJob mixed = job(2, List.of(new Host("a", 1, login), new Host("b", 1)));
        assertThatThrownBy(() -> words(MpiKind.OPEN_MPI, mixed))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("in the configuration of ssh");
    }

    private static MpiJob job(int processes, String hosts) {
        return job(processes, Host.list(hosts));
    }

    private static MpiJob job(int processes, List<Host> hosts) {
        return new MpiJob(
                processes,
                hosts,
                List.of(List.of("true")),
                List.of(),
                List.of(),
                false,
                List.of(),
                null,
                false);
    }

    private static String words(MpiKind kind, MpiJob job) {
        return String.join(" ", command(kind, job).commandLine());
    }

    private static MpiCommand command(MpiKind kind, MpiJob job) {
        return MpiCommand.of(kind, job, EXPORTED);
    }
}
