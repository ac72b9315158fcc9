package org.horovod4j.launcher.command;

import org.jspecify.annotations.Nullable;

import java.util.List;

/// The flags of the launcher itself, each with its help; those of the processes come from
/// [org.horovod4j.option.Options].
enum LauncherFlag {
    PROCESSES(
            Chapter.PROCESSES,
            "N",
            "How many processes to start: the size of the world.",
            "-np",
            "--num-proc"),
    HOSTS(
            Chapter.PROCESSES,
            "HOST:SLOTS,…",
            "Where they run, and how many each takes, as in gpu1:4,me@gpu2:4 or [fd00::7]:4."
                    + " Default: localhost, with as many as -np.",
            "-H",
            "--hosts"),
    HOST_FILE(
            Chapter.PROCESSES,
            "FILE",
            "The same from a file, with lines such as: gpu1 slots=4",
            "--hostfile",
            "-hostfile"),
    NETWORK_INTERFACES(
            Chapter.PROCESSES,
            "NAME,…",
            "The only network interfaces that may be used; may be given several times. Sets"
                    + " HOROVOD_NETWORK_INTERFACES.",
            "--network-interfaces",
            "--network-interface"),

    JOB(
            Chapter.FILES,
            "FILE",
            "A YAML file that describes the whole training: workers, resources, hosts and what to"
                    + " run. Flags count more than what it says.",
            "--job"),
    CONFIG_FILE(
            Chapter.FILES,
            "FILE",
            "A YAML file of settings, as for Horovod. Flags count more, variables less.",
            "--config-file"),

    LEAST_PROCESSES(
            Chapter.ELASTIC,
            "N",
            "Lets the job go on with as few as N processes when others fail. Default: as many as -np.",
            "--min-np",
            "--min-num-proc"),
    MOST_PROCESSES(
            Chapter.ELASTIC,
            "N",
            "Lets it grow to N processes. Default: as many as -np, or without bound where a script"
                    + " finds the hosts.",
            "--max-np",
            "--max-num-proc"),
    DISCOVERY_SCRIPT(
            Chapter.ELASTIC,
            "COMMAND",
            "Run every second; prints the hosts there are, in lines such as gpu1:4.",
            "--host-discovery-script"),
    SLOTS_PER_HOST(
            Chapter.ELASTIC,
            "N",
            "Slots of a host that the script prints without.",
            "--slots-per-host"),
    RESET_LIMIT(
            Chapter.ELASTIC,
            "N",
            "How often its processes may change. Default: without bound.",
            "--reset-limit"),
    COOLDOWN_RANGE(
            Chapter.ELASTIC,
            "SECONDS",
            "How long a host is left alone after a process has failed there twice: at first, and at"
                    + " most. Default: 10 300.",
            "--blacklist-cooldown-range"),

    SSH_PORT(
            Chapter.REMOTE,
            "PORT",
            "The port of ssh, for hosts that give none.",
            "-p",
            "--ssh-port"),
    SSH_IDENTITY(
            Chapter.REMOTE,
            "FILE",
            "The private key for ssh, for hosts that give none.",
            "-i",
            "--ssh-identity-file"),
    JAVA(
            Chapter.REMOTE,
            "PATH",
            "The java to run on other hosts. Default: the same path as here.",
            "--java"),
    COPY(
            Chapter.REMOTE,
            "PATH",
            "A file or folder, such as the jar of the program, that other hosts get a copy of; may"
                    + " be given several times.",
            "--copy"),

    GLOO(Chapter.CONTROLLER, null, "horovodrun itself, here and by ssh: the default.", "--gloo"),
    MPI(Chapter.CONTROLLER, null, "The mpirun on the PATH.", "--mpi"),
    MPI_ARGS(
            Chapter.CONTROLLER,
            "\"WORDS\"",
            "More options for mpirun, as in --mpi-args=\"--mca btl self,tcp\".",
            "--mpi-args"),
    BINDING_ARGS(
            Chapter.CONTROLLER,
            "\"WORDS\"",
            "How mpirun binds processes to cores, as in --binding-args=\"--bind-to socket\".",
            "--binding-args"),
    TCP(Chapter.CONTROLLER, null, "Let MPI use TCP alone.", "--tcp"),
    JSRUN(Chapter.HIDDEN, null, "", "--jsrun"),

    OUTPUT_FOLDER(
            Chapter.OUTPUT,
            "DIR",
            "Write the output of each rank to DIR/rank.<n>/stdout and stderr too.",
            "--output-filename"),
    TIMESTAMPS(
            Chapter.OUTPUT,
            null,
            "Put the time before each line of output.",
            "-prefix-timestamp",
            "--prefix-output-with-timestamp"),
    VERBOSE(Chapter.OUTPUT, null, "Print each step and the command as it is run.", "--verbose"),
    CHECK_BUILD(
            Chapter.OUTPUT,
            null,
            "Tell what this installation can do, and which frameworks the class path of a command"
                    + " that follows has.",
            "-cb",
            "--check-build"),
    COMPLETION(
            Chapter.OUTPUT,
            "SHELL",
            "Print the script that completes these flags in bash or zsh.",
            "--completion"),
    DISABLE_CACHE(Chapter.HIDDEN, null, "", "--disable-cache"),
    HELP(Chapter.OUTPUT, null, "Print this text.", "-h", "--help"),
    VERSION(Chapter.OUTPUT, null, "Print the version.", "-v", "--version");

    /// The parts of the help, in its order.
    enum Chapter {
        PROCESSES("Processes and hosts"),
        FILES("Files instead of flags"),
        ELASTIC("Elastic jobs, whose processes come and go"),
        REMOTE("Other hosts"),
        CONTROLLER("Who starts the processes"),
        OUTPUT("Output and help"),
        HIDDEN("");

        private final String title;

        Chapter(String title) {
            this.title = title;
        }

        String title() {
            return title;
        }
    }

    private final Chapter chapter;
    private final @Nullable String label;
    private final String help;

    // Made by List.of, which the checker cannot know.
    @SuppressWarnings("ImmutableEnumChecker")
    private final List<String> words;

    LauncherFlag(Chapter chapter, @Nullable String label, String help, String... words) {
        this.chapter = chapter;
        this.label = label;
        this.help = help;
        this.words = List.of(words);
    }

    Chapter chapter() {
        return chapter;
    }

    /// What stands for its value in the help; null for a flag that stands alone.
    @Nullable String label() {
        return label;
    }

    String help() {
        return help;
    }

    /// Its spellings, the one that messages use first.
    List<String> words() {
        return words;
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
        return words.getFirst();
    }
}
