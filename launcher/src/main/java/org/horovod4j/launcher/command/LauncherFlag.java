package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.util.List;

/// The flags of the launcher itself, with their help. The flags of the processes come from
/// [org.horovod4j.option.Options].
enum LauncherFlag {
    PROCESSES(
            Section.PROCESSES,
            "N",
            "The number of processes to start: the size of the world.",
            "-np",
            "--num-proc"),
    HOSTS(
            Section.PROCESSES,
            "HOST:SLOTS,…",
            "The hosts and the slots of each, as in gpu1:4,me@gpu2:4 or [fd00::7]:4."
                    + " Default: localhost, with -np slots.",
            "-H",
            "--hosts"),
    HOST_FILE(
            Section.PROCESSES,
            "FILE",
            "A file of hosts, with lines such as: gpu1 slots=4",
            "--hostfile",
            "-hostfile"),
    NETWORK_INTERFACES(
            Section.PROCESSES,
            "NAME,…",
            "The only network interfaces that may be used; may be given several times. Sets"
                    + " HOROVOD_NETWORK_INTERFACES.",
            "--network-interfaces",
            "--network-interface"),

    JOB(
            Section.FILES,
            "FILE",
            "A YAML file that describes the whole training: workers, resources, hosts and what to"
                    + " run. Flags override it.",
            "--job"),
    CONFIG_FILE(
            Section.FILES,
            "FILE",
            "A YAML file of settings, as for Horovod. Flags override it; it overrides environment variables.",
            "--config-file"),

    MIN_PROCESSES(
            Section.ELASTIC,
            "N",
            "The job continues with at least N processes when others fail. Default: -np.",
            "--min-np",
            "--min-num-proc"),
    MAX_PROCESSES(
            Section.ELASTIC,
            "N",
            "The job grows to at most N processes. Default: -np, or no limit if a script"
                    + " finds the hosts.",
            "--max-np",
            "--max-num-proc"),
    DISCOVERY_SCRIPT(
            Section.ELASTIC,
            "COMMAND",
            "A command that prints the available hosts, in lines such as gpu1:4. Run every second.",
            "--host-discovery-script"),
    SLOTS_PER_HOST(
            Section.ELASTIC,
            "N",
            "The slots of a host that the script prints without slots.",
            "--slots-per-host"),
    RESET_LIMIT(
            Section.ELASTIC,
            "N",
            "How often the set of processes may change. Default: no limit.",
            "--reset-limit"),
    COOLDOWN_RANGE(
            Section.ELASTIC,
            "SECONDS",
            "How long a host is not used after two processes failed there: the first time, and at"
                    + " most. Default: 10 300.",
            "--blacklist-cooldown-range"),

    SSH_PORT(
            Section.REMOTE,
            "PORT",
            "The ssh port of hosts that are given without one.",
            "-p",
            "--ssh-port"),
    SSH_IDENTITY(
            Section.REMOTE,
            "FILE",
            "The private key for ssh, for hosts that are given without one.",
            "-i",
            "--ssh-identity-file"),
    JAVA(
            Section.REMOTE,
            "PATH",
            "The java to run on other hosts. Default: the same path as here.",
            "--java"),
    COPY(
            Section.REMOTE,
            "PATH",
            "A file or folder to copy to other hosts, such as the jar of the program; may"
                    + " be given several times.",
            "--copy"),

    GLOO(
            Section.CONTROLLER,
            null,
            "horovodrun starts the processes, locally and through ssh. This is the default.",
            "--gloo"),
    MPI(Section.CONTROLLER, null, "The mpirun on the PATH starts the processes.", "--mpi"),
    MPI_ARGS(
            Section.CONTROLLER,
            "\"WORDS\"",
            "More options for mpirun, as in --mpi-args=\"--mca btl self,tcp\".",
            "--mpi-args"),
    BINDING_ARGS(
            Section.CONTROLLER,
            "\"WORDS\"",
            "How mpirun binds processes to cores, as in --binding-args=\"--bind-to socket\".",
            "--binding-args"),
    TCP(Section.CONTROLLER, null, "MPI uses only TCP.", "--tcp"),
    JSRUN(Section.HIDDEN, null, "", "--jsrun"),

    OUTPUT_FOLDER(
            Section.OUTPUT,
            "DIR",
            "Also write the output of each rank to DIR/rank.<n>/stdout and stderr.",
            "--output-filename"),
    TIMESTAMPS(
            Section.OUTPUT,
            null,
            "Print the time before each line of output.",
            "-prefix-timestamp",
            "--prefix-output-with-timestamp"),
    VERBOSE(Section.OUTPUT, null, "Print each step and the command that is run.", "--verbose"),
    CHECK_BUILD(
            Section.OUTPUT,
            null,
            "Print what this installation supports, and the frameworks on the class path of the"
                    + " command that follows.",
            "-cb",
            "--check-build"),
    COMPLETION(
            Section.OUTPUT, "SHELL", "Print a completion script for bash or zsh.", "--completion"),
    DISABLE_CACHE(Section.HIDDEN, null, "", "--disable-cache"),
    HELP(Section.OUTPUT, null, "Print this text.", "-h", "--help"),
    VERSION(Section.OUTPUT, null, "Print the version.", "-v", "--version");

    /// The sections of the help, in order.
    enum Section {
        PROCESSES("Processes and hosts"),
        FILES("Files instead of flags"),
        ELASTIC("Elastic jobs"),
        REMOTE("Other hosts"),
        CONTROLLER("What starts the processes"),
        OUTPUT("Output and help"),
        HIDDEN("");

        private final String title;

        Section(String title) {
            this.title = title;
        }

        String title() {
            return title;
        }
    }

    private final Section section;
    private final @Nullable String label;
    private final String help;

    // Immutable: created by List.of.
    @SuppressWarnings("ImmutableEnumChecker")
    private final List<String> names;

    LauncherFlag(Section section, @Nullable String label, String help, String... names) {
        this.section = section;
        this.label = label;
        this.help = help;
        this.names = List.of(names);
    }

    Section section() {
        return section;
    }

    /// The placeholder of its value in the help; null for a flag without a value.
    @Nullable String label() {
        return label;
    }

    String help() {
        return help;
    }

    /// Its names; messages use the first.
    List<String> names() {
        return names;
    }

    /// The number of values that follow it; 0 for a flag without a value.
    int arity() {
        return this == COOLDOWN_RANGE ? 2 : label == null ? 0 : 1;
    }

    /// Whether it may be given several times.
    boolean isRepeatable() {
        return this == NETWORK_INTERFACES || this == COPY;
    }

    /// Its name in messages.
    @Override
    public String toString() {
        return names.getFirst();
    }
}
