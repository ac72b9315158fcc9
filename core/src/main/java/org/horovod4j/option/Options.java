package org.horovod4j.option;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/// Every option there is: those that say who a process is and how bytes move are here, those of the
/// runtime in [RuntimeOptions], those of elastic jobs in [ElasticOptions]. `docs/options.md` is
/// made from all of them.
public final class Options {
    public static final Option<Integer> RANK =
            Option.integer()
                    .environment("HOROVOD_RANK")
                    .byDefault(0)
                    .atLeast(0)
                    .in(OptionGroup.WORLD)
                    .help("The number of this process among all, from 0.");

    public static final Option<Integer> SIZE =
            Option.integer()
                    .environment("HOROVOD_SIZE")
                    .byDefault(1)
                    .atLeast(1)
                    .in(OptionGroup.WORLD)
                    .help(
                            "How many processes there are. With neither rank nor size, a process takes"
                                    + " both from Slurm's `srun` or from `mpirun`, or else is a world"
                                    + " of its own.");

    public static final Option<Integer> LOCAL_RANK =
            Option.integer()
                    .environment("HOROVOD_LOCAL_RANK")
                    .whenUnset("worked out from the hosts")
                    .atLeast(0)
                    .in(OptionGroup.WORLD)
                    .help(
                            "The number of this process among those of its host: usually that of its"
                                    + " device.");

    public static final Option<Integer> LOCAL_SIZE =
            Option.integer()
                    .environment("HOROVOD_LOCAL_SIZE")
                    .whenUnset("worked out from the hosts")
                    .atLeast(1)
                    .in(OptionGroup.WORLD)
                    .help("How many processes this host has.");

    public static final Option<Integer> CROSS_RANK =
            Option.integer()
                    .environment("HOROVOD_CROSS_RANK")
                    .whenUnset("worked out from the hosts")
                    .atLeast(0)
                    .in(OptionGroup.WORLD)
                    .help("The number of this host among those that have this local rank.");

    public static final Option<Integer> CROSS_SIZE =
            Option.integer()
                    .environment("HOROVOD_CROSS_SIZE")
                    .whenUnset("worked out from the hosts")
                    .atLeast(1)
                    .in(OptionGroup.WORLD)
                    .help("How many hosts have this local rank.");

    public static final Option<String> HOSTNAME =
            Option.text()
                    .environment("HOROVOD_HOSTNAME")
                    .whenUnset("the scheduler's or the machine's own name for it")
                    .in(OptionGroup.WORLD)
                    .help("The name of this host. Ranks that give the same name share a host.");

    public static final Option<String> CLASS_ARCHIVES =
            Option.text("class-archives")
                    .environment("HOROVOD_CLASS_ARCHIVES")
                    .whenUnset("`horovod4j` in the user's cache folder")
                    .in(OptionGroup.START)
                    .help(
                            "A folder for archives of loaded classes, which make later starts of the"
                                    + " same Java program faster; `none` for no archives.");

    public static final Option<String> RENDEZVOUS_ADDR =
            Option.text()
                    .environment("HOROVOD_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_ADDR")
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "The names or addresses of the host where the ranks meet, with commas"
                                    + " between them: all are tried. `auto` is the first host of a"
                                    + " step of Slurm's.");

    public static final Option<Integer> RENDEZVOUS_PORT =
            Option.integer()
                    .environment("HOROVOD_RENDEZVOUS_PORT", "HOROVOD_GLOO_RENDEZVOUS_PORT")
                    .atLeast(1)
                    .atMost(65_535)
                    .in(OptionGroup.RENDEZVOUS)
                    .help("The port where the ranks meet.");

    public static final Option<Path> RENDEZVOUS_FOLDER =
            Option.path()
                    .environment("HOROVOD_RENDEZVOUS_FOLDER")
                    .whenUnset("`.horovod` in the home folder")
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "Where rank 0 leaves word of the place to meet when no address is set:"
                                    + " a folder that all hosts share and this user alone may enter."
                                    + " It is made if need be.");

    public static final Option<RendezvousHost> RENDEZVOUS_SERVER =
            Option.choice(RendezvousHost.class)
                    .environment("HOROVOD_RENDEZVOUS_SERVER")
                    .byDefault(RendezvousHost.RANK0)
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "Who answers at the rendezvous address: the launcher, or rank 0 where"
                                    + " processes are started by hand.");

    public static final Option<String> SECRET_KEY =
            Option.text()
                    .environment("HOROVOD_SECRET_KEY")
                    .secret()
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "The secret of the job, the same on every rank. A connection that does"
                                    + " not know it is refused.");

    public static final Option<Boolean> TLS =
            Option.bool("tls")
                    .environment("HOROVOD_TLS")
                    .byDefault(false)
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "Encrypt all that ranks and launcher send over the network, with keys that"
                                    + " each connection makes anew. Memory that ranks of a host share is not"
                                    + " encrypted.");

    public static final Option<String> JOB_ID =
            Option.text()
                    .environment("HOROVOD_JOB_ID")
                    .whenUnset("the scheduler's name for it")
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "The name of the job, which no other has that runs meanwhile: marks its"
                                    + " processes and all that they start.");

    public static final Option<Duration> START_TIMEOUT =
            Option.seconds("start-timeout")
                    .environment("HOROVOD_START_TIMEOUT")
                    .byDefault(Duration.ofSeconds(30))
                    .atLeast(Duration.ofMillis(100))
                    .in(OptionGroup.RENDEZVOUS)
                    .help("How long the ranks wait for each other at the start.");

    public static final Option<Duration> HEARTBEAT_TIMEOUT =
            Option.seconds("heartbeat-timeout")
                    .environment("HOROVOD_HEARTBEAT_TIMEOUT")
                    .byDefault(Duration.ofSeconds(10))
                    .atLeast(Duration.ofMillis(100))
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "How long a rank may be silent before the others hold it for lost. A"
                                    + " process that ends is noticed at once.");

    public static final Option<String> NETWORK_INTERFACES =
            Option.text("network-interfaces")
                    .environment("HOROVOD_NETWORK_INTERFACES", "HOROVOD_GLOO_IFACE")
                    .whenUnset("all interfaces")
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "The network interfaces that other ranks are told to reach this host by,"
                                    + " with commas between them. Each host uses those it has.");

    public static final Option<TransportChoice> TRANSPORT =
            Option.choice("transport", TransportChoice.class)
                    .environment("HOROVOD_TRANSPORT")
                    .byDefault(TransportChoice.AUTO)
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "How bytes move: `auto` uses shared memory inside a host and TCP between"
                                    + " hosts, `tcp` uses TCP throughout.");

    public static final Option<Integer> TCP_STREAMS =
            Option.integer("tcp-streams")
                    .environment("HOROVOD_TCP_STREAMS")
                    .byDefault(0)
                    .atLeast(0)
                    .atMost(16)
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "Connections between each two ranks; 0 makes it 1 inside a host and 4"
                                    + " between hosts.");

    public static final Option<String> SHM_FOLDER =
            Option.text("shm-folder")
                    .environment("HOROVOD_SHM_FOLDER")
                    .byDefault("/dev/shm")
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "Where the ranks of a host put the files they share. A folder in memory;"
                                    + " when it cannot be used, the folder for temporary files is.");

    public static final Option<KernelChoice> KERNELS =
            Option.choice("kernels", KernelChoice.class)
                    .environment("HOROVOD_KERNELS")
                    .byDefault(KernelChoice.AUTO)
                    .in(OptionGroup.COLLECTIVES)
                    .help(
                            "The arithmetic: `auto` uses vector instructions where the JVM has them,"
                                    + " `scalar` never does. The results are the same.");

    public static final Option<AllreduceChoice> ALLREDUCE_ALGORITHM =
            Option.choice("allreduce-algorithm", AllreduceChoice.class)
                    .environment("HOROVOD_ALLREDUCE_ALGORITHM")
                    .byDefault(AllreduceChoice.AUTO)
                    .in(OptionGroup.COLLECTIVES)
                    .help(
                            "The algorithm of an allreduce between hosts, the same on every rank: `auto`"
                                    + " picks by size, and by latency and bandwidth measured at"
                                    + " start where that does not show in the result.");

    public static final Option<HookChoice> GRADIENT_HOOKS =
            Option.choice("gradient-hooks", HookChoice.class)
                    .environment("HOROVOD_GRADIENT_HOOKS")
                    .byDefault(HookChoice.AUTO)
                    .in(OptionGroup.FRAMEWORKS)
                    .help(
                            "Hooks into libtorch, by which gradients are exchanged while backward goes on:"
                                    + " `auto` uses them with versions known to work and exchanges"
                                    + " gradients so where it can pay, `on` with any version and"
                                    + " everywhere, `off` exchanges gradients after backward.");

    private static final List<Option<?>> ALL =
            Stream.concat(
                            Stream.of(
                                    RANK,
                                    SIZE,
                                    LOCAL_RANK,
                                    LOCAL_SIZE,
                                    CROSS_RANK,
                                    CROSS_SIZE,
                                    HOSTNAME,
                                    CLASS_ARCHIVES,
                                    RENDEZVOUS_ADDR,
                                    RENDEZVOUS_PORT,
                                    RENDEZVOUS_FOLDER,
                                    RENDEZVOUS_SERVER,
                                    SECRET_KEY,
                                    TLS,
                                    JOB_ID,
                                    START_TIMEOUT,
                                    HEARTBEAT_TIMEOUT,
                                    NETWORK_INTERFACES,
                                    TRANSPORT,
                                    TCP_STREAMS,
                                    SHM_FOLDER,
                                    KERNELS,
                                    ALLREDUCE_ALGORITHM,
                                    GRADIENT_HOOKS),
                            Stream.concat(
                                    ElasticOptions.all().stream(), RuntimeOptions.all().stream()))
                    .toList();

    private Options() {}

    /// All of them, in the order of the reference page.
    public static List<Option<?>> all() {
        return ALL;
    }
}
