package org.horovod4j.launcher.mpi;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.option.LocalHostName;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/// The command line of `mpirun` for a job, and the variables that `mpirun` itself reads.
///
/// All differences between the kinds of MPI are here.
///
/// @param commandLine the command line before the program
/// @param variables variables for `mpirun`, in addition to those of the job
record MpiCommand(List<String> commandLine, Map<String, String> variables) {
    /// From this number of hosts on, Open MPI's daemons would start each other in a tree, in which
    /// one failing host takes a whole branch with it.
    private static final int MANY_HOSTS = 64;

    private static final String FOR_TCP_ONLY = "NCCL_IB_DISABLE";

    private static final Pattern LOOPBACK = Pattern.compile("localhost|127\\..*|\\[?::1]?");

    MpiCommand {
        commandLine = List.copyOf(commandLine);
        variables = Map.copyOf(variables);
    }

    /// @param exported the names of the variables that every rank gets
    /// @throws ConfigurationException if this MPI does not support what the job needs
    static MpiCommand of(MpiKind kind, MpiJob job, Collection<String> exported) {
        Login login = commonLogin(job.hosts());
        return switch (kind) {
            case OPEN_MPI, SPECTRUM_MPI -> openMpi(job, exported, login);
            case MPICH, INTEL_MPI -> hydra(kind, job, exported, login);
        };
    }

    private static MpiCommand openMpi(MpiJob job, Collection<String> exported, Login login) {
        List<String> words = new ArrayList<>(List.of(MpiKind.COMMAND));
        // Containers run as root.
        words.add("--allow-run-as-root");
        words.addAll(List.of("-np", Integer.toString(job.processes())));
        words.addAll(
                List.of("-H", String.join(",", job.hosts().stream().map(Host::toString).toList())));
        words.add("--tag-output");
        words.addAll(
                job.bindingArguments().isEmpty()
                        ? List.of("--bind-to", "none", "--map-by", "slot")
                        : job.bindingArguments());
        if (job.hosts().size() >= MANY_HOSTS) {
            set(words, "plm_rsh_no_tree_spawn", "true");
            set(words, "plm_rsh_num_concurrent", Integer.toString(job.hosts().size()));
        }
        if (!login.equals(Login.DEFAULT)) {
            set(words, "plm_rsh_args", String.join(" ", login.sshOptions()));
        }
        if (!job.interfaces().isEmpty()) {
            String names = String.join(",", job.interfaces());
            set(words, "btl_tcp_if_include", names);
            set(words, "oob_tcp_if_include", names);
        }
        if (job.tcpOnly()) {
            set(words, "pml", "ob1");
            set(words, "btl", "tcp,self");
        }
        if (job.timestamps()) {
            words.add("--timestamp-output");
        }
        if (job.folder() != null) {
            words.addAll(List.of("--output-filename", job.folder().toString()));
        }
        Map<String, String> variables = job.tcpOnly() ? Map.of(FOR_TCP_ONLY, "1") : Map.of();
        exported.forEach(name -> words.addAll(List.of("-x", name)));
        variables.keySet().forEach(name -> words.addAll(List.of("-x", name)));
        words.addAll(job.arguments());
        return new MpiCommand(words, variables);
    }

    private static void set(List<String> words, String parameter, String value) {
        words.addAll(List.of("-mca", parameter, value));
    }

    private static MpiCommand hydra(
            MpiKind kind, MpiJob job, Collection<String> exported, Login login) {
        if (job.timestamps() || job.folder() != null) {
            throw new ConfigurationException(
                    "--mpi: the mpirun of %s supports neither timestamps nor an output file per rank."
                                    .formatted(kind)
                            + " Leave out --prefix-output-with-timestamp and --output-filename.");
        }
        List<String> words = new ArrayList<>(List.of(MpiKind.COMMAND));
        words.addAll(List.of("-n", Integer.toString(job.processes())));
        words.addAll(
                List.of("-hosts", String.join(",", job.hosts().stream().map(Host::name).toList())));
        words.addAll(List.of("-ppn", Integer.toString(slotsPerHost(kind, job.hosts()))));
        words.add("-prepend-rank");
        words.addAll(
                job.bindingArguments().isEmpty()
                        ? List.of("-bind-to", "none")
                        : job.bindingArguments());
        if (job.interfaces().size() > 1) {
            throw new ConfigurationException(
                    "--network-interfaces: the mpirun of %s supports one interface, got %s. Name one."
                            .formatted(kind, String.join(",", job.interfaces())));
        }
        job.interfaces().forEach(name -> words.addAll(List.of("-iface", name)));
        if (job.interfaces().isEmpty() && mixesLoopbackAndRemote(job.hosts())) {
            words.addAll(List.of("-localhost", LocalHostName.find()));
        }
        Map<String, String> variables = new LinkedHashMap<>();
        if (!login.equals(Login.DEFAULT)) {
            variables.put(
                    kind == MpiKind.INTEL_MPI
                            ? "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"
                            : "HYDRA_LAUNCHER_EXTRA_ARGS",
                    String.join(" ", login.sshOptions()));
        }
        List<String> names = new ArrayList<>(exported);
        if (job.tcpOnly()) { // for libfabric, which both use
            variables.put("FI_PROVIDER", "tcp");
            variables.put(FOR_TCP_ONLY, "1");
            names.addAll(List.of("FI_PROVIDER", FOR_TCP_ONLY));
        }
        words.addAll(List.of("-genvlist", String.join(",", names)));
        words.addAll(job.arguments());
        return new MpiCommand(words, variables);
    }

    /// Whether the list has both loopback and remote hosts. Hydra would then give the loopback name
    /// to the remote hosts as the address of this machine.
    private static boolean mixesLoopbackAndRemote(List<Host> hosts) {
        Map<Boolean, Long> loopback =
                hosts.stream()
                        .collect(
                                Collectors.partitioningBy(
                                        host -> LOOPBACK.matcher(host.name()).matches(),
                                        Collectors.counting()));
        return !loopback.containsValue(0L);
    }

    /// Hydra starts the same number of processes on every host, in order; only the last may get
    /// fewer.
    private static int slotsPerHost(MpiKind kind, List<Host> hosts) {
        int slots = hosts.getFirst().slots();
        boolean equal =
                hosts.stream().limit(hosts.size() - 1L).allMatch(host -> host.slots() == slots);
        if (!equal || hosts.getLast().slots() > slots) {
            throw new ConfigurationException(
                    ("--mpi: the mpirun of %s starts the same number of processes on every host, but %s"
                                    + " have different numbers. Give all hosts the same number of slots.")
                            .formatted(
                                    kind,
                                    String.join(",", hosts.stream().map(Host::toString).toList())));
        }
        return slots;
    }

    /// The login of all hosts: `mpirun` supports only one.
    private static Login commonLogin(List<Host> hosts) {
        List<Login> logins = hosts.stream().map(Host::login).distinct().toList();
        if (logins.size() > 1) {
            throw new ConfigurationException(
                    "--mpi: mpirun logs in to all hosts in the same way, but users, ports or identity files"
                            + " differ between the hosts. Set them in the configuration of ssh.");
        }
        return logins.getFirst();
    }
}
