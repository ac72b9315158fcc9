package org.horovod4j.option;

import org.horovod4j.option.WorkerSettings.KernelChoice;
import org.horovod4j.option.WorkerSettings.TransportChoice;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/// All options. Those of rank, rendezvous and transport are here, those of the runtime in
/// [RuntimeOptions], those of elastic jobs in [ElasticOptions], those that choose backends in [BackendOptions]. `docs/options.md` is generated from
/// them.
public final class Options {
    public static final Option<Integer> RANK =
            Option.integer()
                    .environment("HOROVOD_RANK")
                    .byDefault(0)
                    .atLeast(0)
                    .in(OptionGroup.WORLD)
                    .help("The rank of this process, from 0.");

    public static final Option<Integer> SIZE =
            Option.integer()
                    .environment("HOROVOD_SIZE")
                    .byDefault(1)
                    .atLeast(1)
                    .in(OptionGroup.WORLD)
                    .help(
                            "The number of processes. If neither rank nor size is set, a process takes"
                                    + " both from Slurm's `srun` or from `mpirun`; otherwise it runs"
                                    + " alone.");

    public static final Option<Integer> LOCAL_RANK =
            Option.integer()
                    .environment("HOROVOD_LOCAL_RANK")
                    .whenUnset("derived from the host names")
                    .atLeast(0)
                    .in(OptionGroup.WORLD)
                    .help(
                            "The rank of this process among those of its host. Usually selects its"
                                    + " device.");

    public static final Option<Integer> LOCAL_SIZE =
            Option.integer()
                    .environment("HOROVOD_LOCAL_SIZE")
                    .whenUnset("derived from the host names")
                    .atLeast(1)
                    .in(OptionGroup.WORLD)
                    .help("The number of processes on this host.");

    public static final Option<Integer> HOST_PROCESSORS =
            Option.integer()
                    .environment("HOROVOD_HOST_PROCESSORS")
                    .whenUnset("the processors that the JVM sees")
                    .atLeast(1)
                    .in(OptionGroup.WORLD)
                    .help(
                            "The number of processors of this host. `--bind-to` sets it, because a bound"
                                    + " process sees only its own processors.");

    public static final Option<Integer> CROSS_RANK =
            Option.integer()
                    .environment("HOROVOD_CROSS_RANK")
                    .whenUnset("derived from the host names")
                    .atLeast(0)
                    .in(OptionGroup.WORLD)
                    .help("The rank of this host among those that have this local rank.");

    public static final Option<Integer> CROSS_SIZE =
            Option.integer()
                    .environment("HOROVOD_CROSS_SIZE")
                    .whenUnset("derived from the host names")
                    .atLeast(1)
                    .in(OptionGroup.WORLD)
                    .help("The number of hosts that have this local rank.");

    public static final Option<String> HOSTNAME =
            Option.text()
                    .environment("HOROVOD_HOSTNAME")
                    .whenUnset("the scheduler's name for it, or the machine's own")
                    .in(OptionGroup.WORLD)
                    .help("The name of this host. Ranks with the same name share a host.");

    public static final Option<String> CLASS_ARCHIVES =
            Option.text("class-archives")
                    .environment("HOROVOD_CLASS_ARCHIVES")
                    .whenUnset("`horovod4j` in the user's cache folder")
                    .in(OptionGroup.START)
                    .help(
                            "A folder for class data archives, with which later runs of the same Java"
                                    + " program start faster; `none` for no archives.");

    public static final Option<BindTo> BIND_TO =
            Option.choice("bind-to", BindTo.class)
                    .environment("HOROVOD_BIND_TO")
                    .byDefault(BindTo.NONE)
                    .in(OptionGroup.START)
                    .help(
                            "What each process is bound to: `core` for its share of the host's cores,"
                                    + " `numa` for its share of the NUMA nodes, `none` for all"
                                    + " processors. Not in elastic jobs, and not with `--mpi`.");

    public static final Option<String> RENDEZVOUS_ADDR =
            Option.text()
                    .environment("HOROVOD_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_ADDR")
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "The host of the rendezvous server: names or addresses, separated by"
                                    + " commas. All are tried. `auto` is the first host of a Slurm"
                                    + " step.");

    public static final Option<Integer> RENDEZVOUS_PORT =
            Option.integer()
                    .environment("HOROVOD_RENDEZVOUS_PORT", "HOROVOD_GLOO_RENDEZVOUS_PORT")
                    .atLeast(1)
                    .atMost(65_535)
                    .in(OptionGroup.RENDEZVOUS)
                    .help("The port of the rendezvous server.");

    public static final Option<Path> RENDEZVOUS_FOLDER =
            Option.path()
                    .environment("HOROVOD_RENDEZVOUS_FOLDER")
                    .whenUnset("`.horovod` in the home folder")
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "Where rank 0 publishes the address of the rendezvous server, if none is"
                                    + " set: a folder that all hosts share and only this user can"
                                    + " enter. It is created if necessary.");

    public static final Option<RendezvousHost> RENDEZVOUS_SERVER =
            Option.choice(RendezvousHost.class)
                    .environment("HOROVOD_RENDEZVOUS_SERVER")
                    .byDefault(RendezvousHost.RANK0)
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "Who runs the rendezvous server: the launcher, or rank 0 if the"
                                    + " processes are started by hand.");

    public static final Option<String> SECRET_KEY =
            Option.text()
                    .environment("HOROVOD_SECRET_KEY")
                    .secret()
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "The secret of the job, the same on every rank. Connections from"
                                    + " processes without it are refused. A file is safer:"
                                    + " `HOROVOD_SECRET_FILE`.");

    public static final Option<Path> SECRET_FILE =
            Option.path()
                    .environment("HOROVOD_SECRET_FILE")
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "A file with the secret, if `HOROVOD_SECRET_KEY` is not set. Only this user"
                                    + " may read it. The process removes it when it joins the job.");

    public static final Option<Boolean> TLS =
            Option.bool("tls")
                    .environment("HOROVOD_TLS")
                    .byDefault(false)
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "Encrypt everything that ranks and launcher send over the network, with new"
                                    + " keys for each connection. Memory that the ranks of a host share"
                                    + " is not encrypted.");

    public static final Option<String> JOB_ID =
            Option.text()
                    .environment("HOROVOD_JOB_ID")
                    .whenUnset("the scheduler's name for it")
                    .in(OptionGroup.RENDEZVOUS)
                    .help(
                            "The name of the job, unique among the jobs that run at the same time."
                                    + " It marks the processes of the job and all that they start.");

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
                            "How long a rank or host may be silent before it is declared lost. An outage"
                                    + " of the network that lasts up to about half of that breaks no"
                                    + " connection. The end of a process is noticed at once.");

    public static final Option<String> NETWORK_INTERFACES =
            Option.text("network-interfaces")
                    .environment("HOROVOD_NETWORK_INTERFACES", "HOROVOD_GLOO_IFACE")
                    .whenUnset("all interfaces")
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "The network interfaces at which other ranks connect to this host,"
                                    + " separated by commas. Each host uses those it has, and needs at"
                                    + " least one; the launcher's machine uses all if it has none.");

    public static final Option<TransportChoice> TRANSPORT =
            Option.choice("transport", TransportChoice.class)
                    .environment("HOROVOD_TRANSPORT")
                    .byDefault(TransportChoice.AUTO)
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "How ranks exchange data: `auto` uses shared memory inside a host and TCP"
                                    + " between hosts, `tcp` uses TCP everywhere.");

    public static final Option<Integer> TCP_STREAMS =
            Option.integer("tcp-streams")
                    .environment("HOROVOD_TCP_STREAMS")
                    .byDefault(0)
                    .atLeast(0)
                    .atMost(16)
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "Connections between each pair of ranks; 0 uses 1 inside a host and 2"
                                    + " between hosts.");

    public static final Option<String> SHM_FOLDER =
            Option.text("shm-folder")
                    .environment("HOROVOD_SHM_FOLDER")
                    .byDefault("/dev/shm")
                    .in(OptionGroup.TRANSPORT)
                    .help(
                            "Where the ranks of a host create the files they share: a folder in"
                                    + " memory. If it cannot be used, the folder for temporary files"
                                    + " is.");

    public static final Option<KernelChoice> KERNELS =
            Option.choice("kernels", KernelChoice.class)
                    .environment("HOROVOD_KERNELS")
                    .byDefault(KernelChoice.AUTO)
                    .in(OptionGroup.COLLECTIVES)
                    .help(
                            "The arithmetic: `auto` uses vector instructions if the JVM has them,"
                                    + " `scalar` never does. The results are the same.");

    public static final Option<AllreduceChoice> ALLREDUCE_ALGORITHM =
            Option.choice("allreduce-algorithm", AllreduceChoice.class)
                    .environment("HOROVOD_ALLREDUCE_ALGORITHM")
                    .byDefault(AllreduceChoice.AUTO)
                    .in(OptionGroup.COLLECTIVES)
                    .help(
                            "The algorithm of an allreduce between hosts, the same on every rank. `auto`"
                                    + " chooses by size; where the choice does not change the"
                                    + " result, also by latency and bandwidth measured at start.");

    public static final Option<HookChoice> GRADIENT_HOOKS =
            Option.choice("gradient-hooks", HookChoice.class)
                    .environment("HOROVOD_GRADIENT_HOOKS")
                    .byDefault(HookChoice.AUTO)
                    .in(OptionGroup.FRAMEWORKS)
                    .help(
                            "Hooks into libtorch, with which gradients are reduced during backward."
                                    + " `auto` uses them with versions that are known to work, if"
                                    + " overlapping can pay; `on` always uses them; `off` reduces"
                                    + " gradients after backward.");

    public static final Option<GraphKernels> TENSORFLOW_KERNELS =
            Option.choice("tensorflow-kernels", GraphKernels.class)
                    .environment("HOROVOD_TENSORFLOW_KERNELS")
                    .byDefault(GraphKernels.AUTO)
                    .in(OptionGroup.FRAMEWORKS)
                    .help(
                            "How collectives run in a [TensorFlow](tensorflow.md) graph. `async` blocks no"
                                    + " thread of TensorFlow; `blocking` blocks one for each collective"
                                    + " that TensorFlow waits for; `fetch` runs none inside a graph, but"
                                    + " between two runs of a training session; `auto` is `async` with"
                                    + " tested versions of TensorFlow, otherwise `blocking`, or `fetch`"
                                    + " if the ops cannot be registered.");

    public static final Option<Integer> PARAMETER_CHECK_INTERVAL =
            Option.integer("parameter-check-interval")
                    .environment("HOROVOD_PARAMETER_CHECK_INTERVAL")
                    .byDefault(500)
                    .atLeast(0)
                    .in(OptionGroup.FRAMEWORKS)
                    .help(
                            "How many steps pass between two checks that all ranks have the same"
                                    + " parameters. The first step is checked too. 0 checks nothing.");

    public static final Option<Integer> GPUS_PER_RANK =
            Option.integer("gpus-per-rank")
                    .environment("HOROVOD_GPUS_PER_RANK")
                    .whenUnset("ranks of a host see the same GPUs")
                    .atLeast(0)
                    .in(OptionGroup.FRAMEWORKS)
                    .help(
                            "How many GPUs each rank sees that no other rank of its host sees."
                                    + " `horovodrun` divides the GPUs of a host, or those in"
                                    + " `CUDA_VISIBLE_DEVICES`, and sets that variable for each rank."
                                    + " A rank of another launcher that lists one GPU there has it for"
                                    + " itself, unless this is 0.");

    public static final Option<Boolean> SHARE_GPUS =
            Option.bool("share-gpus")
                    .environment("HOROVOD_SHARE_GPUS")
                    .byDefault(false)
                    .in(OptionGroup.FRAMEWORKS)
                    .help(
                            "Whether ranks share GPUs if a host has more ranks than GPUs. Otherwise"
                                    + " that is an error.");

    private static final List<Option<?>> ALL =
            Stream.concat(
                            Stream.of(
                                    RANK,
                                    SIZE,
                                    LOCAL_RANK,
                                    LOCAL_SIZE,
                                    HOST_PROCESSORS,
                                    CROSS_RANK,
                                    CROSS_SIZE,
                                    HOSTNAME,
                                    CLASS_ARCHIVES,
                                    BIND_TO,
                                    RENDEZVOUS_ADDR,
                                    RENDEZVOUS_PORT,
                                    RENDEZVOUS_FOLDER,
                                    RENDEZVOUS_SERVER,
                                    SECRET_KEY,
                                    SECRET_FILE,
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
                                    GRADIENT_HOOKS,
                                    TENSORFLOW_KERNELS,
                                    PARAMETER_CHECK_INTERVAL,
                                    GPUS_PER_RANK,
                                    SHARE_GPUS),
                            Stream.of(
                                            ElasticOptions.all(),
                                            RuntimeOptions.all(),
                                            BackendOptions.all())
                                    .flatMap(List::stream))
                    .toList();

    private Options() {}

    /// All options, in the order of the reference page.
    public static List<Option<?>> all() {
        return ALL;
    }
}
