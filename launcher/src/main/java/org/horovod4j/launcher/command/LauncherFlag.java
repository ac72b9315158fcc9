package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.util.List;

/// The flags of the launcher itself, each with its help; those of the processes come from
/// [org.horovod4j.option.Options].
enum LauncherFlag {
    PROCESSES(
            Section.PROCESSES,
            "N",
            "How many processes to start: the size of the world.",
            "-np",
            "--num-proc"),
    HOSTS(
            Section.PROCESSES,
            "HOST:SLOTS,…",
            "Where they run, and how many each takes, as in gpu1:4,me@gpu2:4 or [fd00::7]:4."
                    + " Default: localhost, with as many as -np.",
            "-H",
            "--hosts"),
    HOST_FILE(
            Section.PROCESSES,
            "FILE",
            "The same from a file, with lines such as: gpu1 slots=4",
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
                    + " run. Flags count more than what it says.",
            "--job"),
    CONFIG_FILE(
            Section.FILES,
            "FILE",
            "A YAML file of settings, as for Horovod. Flags count more, variables less.",
            "--config-file"),

    MIN_PROCESSES(
            Section.ELASTIC,
            "N",
            "Lets the job go on with as few as N processes when others fail. Default: as many as -np.",
            "--min-np",
            "--min-num-proc"),
    MAX_PROCESSES(
            Section.ELASTIC,
            "N",
            "Lets it grow to N processes. Default: as many as -np, or without bound where a script"
                    + " finds the hosts.",
            "--max-np",
            "--max-num-proc"),
    DISCOVERY_SCRIPT(
            Section.ELASTIC,
            "COMMAND",
            "Run every second; prints the hosts there are, in lines such as gpu1:4.",
            "--host-discovery-script"),
    SLOTS_PER_HOST(
            Section.ELASTIC,
            "N",
            "Slots of a host that the script prints without.",
            "--slots-per-host"),
    RESET_LIMIT(
            Section.ELASTIC,
            "N",
            "How often its processes may change. Default: without bound.",
            "--reset-limit"),
    COOLDOWN_RANGE(
            Section.ELASTIC,
            "SECONDS",
            "How long a host is left alone after a process has failed there twice: at first, and at"
                    + " most. Default: 10 300.",
            "--blacklist-cooldown-range"),

    SSH_PORT(
            Section.REMOTE,
            "PORT",
            "The port of ssh, for hosts that give none.",
            "-p",
            "--ssh-port"),
    SSH_IDENTITY(
            Section.REMOTE,
            "FILE",
            "The private key for ssh, for hosts that give none.",
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
            "A file or folder, such as the jar of the program, that other hosts get a copy of; may"
                    + " be given several times.",
            "--copy"),

    GLOO(Section.CONTROLLER, null, "horovodrun itself, here and by ssh: the default.", "--gloo"),
    MPI(Section.CONTROLLER, null, "The mpirun on the PATH.", "--mpi"),
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
    TCP(Section.CONTROLLER, null, "Let MPI use TCP alone.", "--tcp"),
    JSRUN(Section.HIDDEN, null, "", "--jsrun"),

    OUTPUT_FOLDER(
            Section.OUTPUT,
            "DIR",
            "Write the output of each rank to DIR/rank.<n>/stdout and stderr too.",
            "--output-filename"),
    TIMESTAMPS(
            Section.OUTPUT,
            null,
            "Put the time before each line of output.",
            "-prefix-timestamp",
            "--prefix-output-with-timestamp"),
    VERBOSE(Section.OUTPUT, null, "Print each step and the command as it is run.", "--verbose"),
    CHECK_BUILD(
            Section.OUTPUT,
            null,
            "Tell what this installation can do, and which frameworks the class path of a command"
                    + " that follows has.",
            "-cb",
            "--check-build"),
    COMPLETION(
            Section.OUTPUT,
            "SHELL",
            "Print the script that completes these flags in bash or zsh.",
            "--completion"),
    DISABLE_CACHE(Section.HIDDEN, null, "", "--disable-cache"),
    HELP(Section.OUTPUT, null, "Print this text.", "-h", "--help"),
    VERSION(Section.OUTPUT, null, "Print the version.", "-v", "--version");

    /// The parts of the help, in its order.
    enum Section {
        PROCESSES("Processes and hosts"),
        FILES("Files instead of flags"),
        ELASTIC("Elastic jobs, whose processes come and go"),
        REMOTE("Other hosts"),
        CONTROLLER("Who starts the processes"),
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

    // Made by List.of, which the checker cannot know.
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

    /// What stands for its value in the help; null for a flag that stands alone.
    @Nullable String label() {
        return label;
    }

    String help() {
        return help;
    }

    /// Its spellings, the one that messages use first.
    List<String> names() {
        return names;
    }

    /// How many values follow it; none follow a flag that stands alone.
    int arity() {
        return this == COOLDOWN_RANGE ? 2 : label == null ? 0 : 1;
    }

    /// Whether it may be given several times.
    boolean isRepeatable() {
        return this == NETWORK_INTERFACES || this == COPY;
    }

    /// As messages name it.
    @Override
    public String toString() {
        return names.getFirst();
    }
}
