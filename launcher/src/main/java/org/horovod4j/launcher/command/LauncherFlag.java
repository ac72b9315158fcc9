package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/// The flags of the launcher itself, with their help. The flags of the processes come from
/// [org.horovod4j.option.Options].
enum LauncherFlag {
    PROCESSES(
            "-np --num-proc N",
            "The number of processes to start: the size of the world. Default: the slots of the hosts, if -H or --hostfile names them."),
    HOSTS(
            "-H --hosts HOST:SLOTS,…",
            "The hosts and the slots of each, as in gpu1:4,me@gpu2:4 or [fd00::7]:4; one slot"
                    + " if none are given. Default: localhost, with -np slots."),
    HOST_FILE("--hostfile -hostfile FILE", "A file of hosts, with lines such as: gpu1 slots=4"),
    NETWORK_INTERFACES(
            "--network-interfaces --network-interface NAME,…",
            "The only network interfaces that may be used; may be given several times. Sets"
                    + " HOROVOD_NETWORK_INTERFACES."),
    JOB(
            "--job FILE",
            "A YAML file that describes the whole training: workers, resources, hosts and what to"
                    + " run, here, by ssh, by mpirun or on Spark. Flags override it."),
    CONFIG_FILE(
            "--config-file FILE",
            "A YAML file of settings, as for Horovod. Flags override it; it overrides environment variables."),
    MIN_PROCESSES(
            "--min-np --min-num-proc N",
            "The job continues with at least N processes when others fail. Default: -np."),
    MAX_PROCESSES(
            "--max-np --max-num-proc N",
            "The job grows to at most N processes. Default: -np, or no limit if a script"
                    + " finds the hosts."),
    DISCOVERY_SCRIPT(
            "--host-discovery-script COMMAND",
            "A command that prints the available hosts, in lines such as gpu1:4. Run every second."),
    SLOTS_PER_HOST(
            "--slots-per-host N", "The slots of a host that the script prints without slots."),
    RESET_LIMIT("--reset-limit N", "How often the set of processes may change. Default: no limit."),
    COOLDOWN_RANGE(
            "--blacklist-cooldown-range SECONDS",
            "How long a host is not used after two processes failed there: the first time, and at"
                    + " most. Default: 10 300."),
    SSH_PORT("-p --ssh-port PORT", "The ssh port of hosts that are given without one."),
    SSH_IDENTITY(
            "-i --ssh-identity-file FILE",
            "The private key for ssh, for hosts that are given without one."),
    JAVA("--java PATH", "The java to run on other hosts. Default: the same path as here."),
    COPY(
            "--copy PATH",
            "A file or folder to copy to other hosts, such as the jar of the program; may"
                    + " be given several times. Its path in the command is replaced by that of"
                    + " the copy."),
    GLOO(
            "--gloo",
            "horovodrun starts the processes, locally and through ssh. This is the default."),
    MPI("--mpi", "The mpirun on the PATH starts the processes."),
    MPI_ARGS(
            "--mpi-args \"WORDS\"",
            "More options for mpirun, as in --mpi-args=\"--mca btl self,tcp\"."),
    BINDING_ARGS(
            "--binding-args \"WORDS\"",
            "How mpirun binds processes to cores, as in --binding-args=\"--bind-to socket\"."),
    TCP("--tcp", "MPI uses only TCP."),
    OUTPUT_FOLDER(
            "--output-filename DIR",
            "Also write the output of each rank to DIR/rank.<n>/stdout and stderr."),
    TIMESTAMPS(
            "-prefix-timestamp --prefix-output-with-timestamp",
            "Print the time before each line of output and of horovodrun."),
    VERBOSE("--verbose", "Print each step and the command that is run."),
    CHECK_BUILD(
            "-cb --check-build",
            "Print what this installation supports, what is on the class path of the command that"
                    + " follows, and the Java of the hosts that -H or --hostfile names."),
    COMPLETION("--completion SHELL", "Print a completion script for bash or zsh."),
    HELP("-h --help", "Print the everyday flags."),
    HELP_ALL("--help-all", "Print all flags."),
    VERSION("-v --version", "Print the version."),
    JSRUN("--jsrun", ""),
    DISABLE_CACHE("--disable-cache", "");

    /// The sections of the help, in order. Flags outside them are accepted, but not shown.
    enum Section {
        PROCESSES("Processes and hosts", LauncherFlag.PROCESSES, NETWORK_INTERFACES),
        FILES("Files instead of flags", JOB, CONFIG_FILE),
        ELASTIC("Elastic jobs", MIN_PROCESSES, COOLDOWN_RANGE),
        REMOTE("Other hosts", SSH_PORT, COPY),
        CONTROLLER("What starts the processes", GLOO, TCP),
        OUTPUT("Output and help", OUTPUT_FOLDER, VERSION);

        private final String title;
        private final LauncherFlag first;
        private final LauncherFlag last;

        Section(String title, LauncherFlag first, LauncherFlag last) {
            this.title = title;
            this.first = first;
            this.last = last;
        }

        String title() {
            return title;
        }

        Set<LauncherFlag> flags() {
            return EnumSet.range(first, last);
        }
    }

    private final String synopsis;
    private final String help;

    /// @param synopsis its names and, unless it is a switch, the placeholder of its value
    LauncherFlag(String synopsis, String help) {
        this.synopsis = synopsis;
        this.help = help;
    }

    private Stream<String> words() {
        return Stream.of(synopsis.split(" "));
    }

    /// Its names; messages use the first.
    List<String> names() {
        return words().filter(word -> word.startsWith("-")).toList();
    }

    /// The placeholder of its value in the help; null for a flag without a value.
    @Nullable String label() {
        return words().filter(word -> !word.startsWith("-")).findFirst().orElse(null);
    }

    String help() {
        return help;
    }

    /// The number of values that follow it; 0 for a flag without a value.
    int arity() {
        return this == COOLDOWN_RANGE ? 2 : label() == null ? 0 : 1;
    }

    /// Whether it has several values, or may be given several times.
    boolean isList() {
        return this == COOLDOWN_RANGE || this == NETWORK_INTERFACES || this == COPY;
    }

    /// Whether it is accepted, but not listed in the help.
    boolean isHidden() {
        return help.isEmpty();
    }

    /// Its name in messages.
    @Override
    public String toString() {
        return names().getFirst();
    }
}
