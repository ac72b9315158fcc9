package org.horovod4j.option;

import org.horovod4j.log.LogLevel;
import org.horovod4j.log.LogSettings;
import org.horovod4j.spi.Tuning;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/// The options of the runtime: when operations run, stall checks, timeline, autotune and logging.
public final class RuntimeOptions {
    /// The signal that asks a process what all ranks are doing.
    public enum StateSignal {
        /// Ignored by processes that have no handler for it, so it can be sent to all.
        URG,
        /// Ends processes that have no handler for it.
        USR1,
        NONE
    }

    public static final Option<Long> FUSION_THRESHOLD =
            Option.bytesByMebibyteFlag("fusion-threshold-mb")
                    .environment("HOROVOD_FUSION_THRESHOLD")
                    .byDefault(Tuning.DEFAULT.fusionThreshold())
                    .atLeast(0L)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "The most bytes of tensors that are fused into one operation; 0 fuses none."
                                    + " A higher value saves steps, a lower one starts sending earlier."
                                    + " The flag takes mebibytes.");

    public static final Option<Duration> CYCLE_TIME =
            Option.millis("cycle-time-ms")
                    .environment("HOROVOD_CYCLE_TIME")
                    .byDefault(Tuning.DEFAULT.cycleTime())
                    .atLeast(Duration.ZERO)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "How long a rank collects requests before it sends them to the coordinator; 0"
                                    + " sends each at once.");

    public static final Option<Integer> CACHE_CAPACITY =
            Option.integer("cache-capacity")
                    .environment("HOROVOD_CACHE_CAPACITY")
                    .byDefault(1024)
                    .atLeast(0)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "How many requests are cached, so that repeating one takes one bit; 0 caches"
                                    + " none.");

    public static final Option<Boolean> PLAN_LOCKING =
            Option.bool("plan-locking")
                    .environment("HOROVOD_PLAN_LOCKING")
                    .byDefault(true)
                    .in(OptionGroup.RUNTIME)
                    .help("Run repeated steps without negotiation, until a step differs.");

    public static final Option<Boolean> DISABLE_GROUP_FUSION =
            Option.bool("no-group-fusion", "group-fusion")
                    .environment("HOROVOD_DISABLE_GROUP_FUSION")
                    .byDefault(false)
                    .in(OptionGroup.RUNTIME)
                    .help("Do not fuse the tensors of a group with those of other operations.");

    public static final Option<JoinAverage> JOIN_AVERAGE =
            Option.choice("join-average", JoinAverage.class)
                    .environment("HOROVOD_JOIN_AVERAGE")
                    .byDefault(JoinAverage.ALL)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "The divisor of an average while some ranks have joined: `all` ranks, as in"
                                    + " Horovod, or only those still `live`.");

    public static final Option<String> THREAD_AFFINITY =
            Option.processors("thread-affinity")
                    .environment("HOROVOD_THREAD_AFFINITY")
                    .whenUnset("not bound")
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "Processors, one for each rank of a host, to which its thread `hvd-cycle` is"
                                    + " bound, as in `0,8`. Linux only. Operations that the program"
                                    + " waits for run in the thread of the program.");

    public static final Option<Long> ROUND_BYTES =
            Option.bytes("round-bytes")
                    .environment("HOROVOD_ROUND_BYTES")
                    .byDefault(Tuning.DEFAULT.roundBytes())
                    .atLeast(Tuning.MIN_ROUND_BYTES)
                    .atMost(Tuning.MAX_ROUND_BYTES)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "How many bytes of a large tensor are packed, reduced and unpacked at a time"
                                    + " inside a host; twice as many, up to 512K, with streaming stores, and"
                                    + " in operations of up to four ranks that use no helper threads.");

    public static final Option<Integer> HELPER_THREADS =
            Option.integer("helper-threads")
                    .environment("HOROVOD_HELPER_THREADS")
                    .whenUnset(
                            "the processors of the host divided by its ranks, less one, at most 7")
                    .atLeast(0)
                    .atMost(64)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "How many threads help a rank with an allreduce or reducescatter of 512 KiB or"
                                    + " more while its program waits for it.");

    public static final Option<StreamingStoresChoice> STREAMING_STORES =
            Option.choice("streaming-stores", StreamingStoresChoice.class)
                    .environment("HOROVOD_STREAMING_STORES")
                    .byDefault(StreamingStoresChoice.AUTO)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "Whether the ranks of a host bypass the caches when they write the data of a"
                                    + " large allreduce for each other. `auto` times both ways while"
                                    + " the job runs. Only on Linux on x86-64. Operations with helper"
                                    + " threads do not do it.");

    public static final Option<Long> RING_BYTES =
            Option.bytes("ring-bytes")
                    .environment("HOROVOD_RING_BYTES")
                    .byDefault(Tuning.DEFAULT.ringBytes())
                    .atLeast(0L)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "The size from which an allreduce between hosts uses a ring; 0 decides by the"
                                    + " measured latency and bandwidth.");

    public static final Option<Boolean> STALL_CHECK_DISABLE =
            Option.bool("no-stall-check", "stall-check")
                    .environment("HOROVOD_STALL_CHECK_DISABLE")
                    .byDefault(false)
                    .in(OptionGroup.STALLS)
                    .help("Do not check for stalls, neither to warn nor to end the job.");

    public static final Option<Duration> STALL_CHECK_TIME =
            Option.seconds("stall-check-warning-time-seconds")
                    .environment("HOROVOD_STALL_CHECK_TIME_SECONDS")
                    .byDefault(Duration.ofSeconds(60))
                    .atLeast(Duration.ZERO)
                    .in(OptionGroup.STALLS)
                    .help(
                            "How long an operation may wait for some ranks before a warning names them; 0"
                                    + " never warns.");

    public static final Option<Duration> STALL_SHUTDOWN_TIME =
            Option.seconds("stall-check-shutdown-time-seconds")
                    .environment("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS")
                    .byDefault(Duration.ZERO)
                    .atLeast(Duration.ZERO)
                    .in(OptionGroup.STALLS)
                    .help(
                            "How long an operation may wait for some ranks before the job ends; 0 waits"
                                    + " forever. Ignored, with a warning, if less than the time until"
                                    + " the stall warning.");

    public static final Option<StateSignal> STATE_SIGNAL =
            Option.choice("state-signal", StateSignal.class)
                    .environment("HOROVOD_STATE_SIGNAL")
                    .byDefault(StateSignal.URG)
                    .in(OptionGroup.STALLS)
                    .help(
                            "The signal that makes a process log what all ranks are doing:"
                                    + " `kill -URG <pid>`. With `none`, no signal handler is installed.");

    public static final Option<Boolean> JVM_HOOKS =
            Option.bool("jvm-hooks")
                    .environment("HOROVOD_JVM_HOOKS")
                    .byDefault(true)
                    .in(OptionGroup.RUNTIME)
                    .help(
                            "Let `Hvd.init` install a default handler of uncaught exceptions, a shutdown"
                                    + " hook and the handler of the state signal in the JVM. Each calls what"
                                    + " was there before.");

    public static final Option<Path> TIMELINE =
            Option.path("timeline-filename")
                    .environment("HOROVOD_TIMELINE")
                    .in(OptionGroup.TIMELINE)
                    .help(
                            "The file to write, or `DYNAMIC` if the program starts and stops the timeline"
                                    + " itself.");

    public static final Option<Boolean> TIMELINE_MARK_CYCLES =
            Option.bool("timeline-mark-cycles")
                    .environment("HOROVOD_TIMELINE_MARK_CYCLES")
                    .byDefault(false)
                    .in(OptionGroup.TIMELINE)
                    .help("Mark the start of each negotiation cycle.");

    public static final Option<Boolean> TIMELINE_ALL_RANKS =
            Option.bool("timeline-all-ranks")
                    .environment("HOROVOD_TIMELINE_ALL_RANKS")
                    .byDefault(false)
                    .in(OptionGroup.TIMELINE)
                    .help("Record all ranks, on one clock, and not only rank 0.");

    public static final Option<Long> TIMELINE_MAX_BYTES =
            Option.bytes("timeline-max-bytes")
                    .environment("HOROVOD_TIMELINE_MAX_BYTES")
                    .byDefault(1L << 30)
                    .atLeast(64L << 10) // a minimal trace
                    .or(0L)
                    .in(OptionGroup.TIMELINE)
                    .help("The size at which writing stops; 0 for no limit.");

    public static final Option<Boolean> AUTOTUNE =
            Option.bool("autotune")
                    .environment("HOROVOD_AUTOTUNE")
                    .byDefault(false)
                    .in(OptionGroup.AUTOTUNE)
                    .help("Tune the settings.");

    public static final Option<Path> AUTOTUNE_LOG =
            Option.path("autotune-log-file")
                    .environment("HOROVOD_AUTOTUNE_LOG")
                    .in(OptionGroup.AUTOTUNE)
                    .help("A file of comma-separated values, with a row for each setting tried.");

    public static final Option<Integer> AUTOTUNE_WARMUP_SAMPLES =
            Option.integer("autotune-warmup-samples")
                    .environment("HOROVOD_AUTOTUNE_WARMUP_SAMPLES")
                    .byDefault(3)
                    .atLeast(0)
                    .in(OptionGroup.AUTOTUNE)
                    .help("How many samples are discarded while the program warms up.");

    public static final Option<Integer> AUTOTUNE_STEPS_PER_SAMPLE =
            Option.integer("autotune-steps-per-sample")
                    .environment("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE")
                    .byDefault(10)
                    .atLeast(1)
                    .in(OptionGroup.AUTOTUNE)
                    .help("How many training steps a sample is taken over.");

    public static final Option<Integer> AUTOTUNE_MAX_SAMPLES =
            Option.integer("autotune-bayes-opt-max-samples")
                    .environment("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES")
                    .byDefault(20)
                    .atLeast(1)
                    .in(OptionGroup.AUTOTUNE)
                    .help("How many settings are tried at most.");

    public static final Option<Double> AUTOTUNE_NOISE =
            Option.number("autotune-gaussian-process-noise")
                    .environment("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE")
                    .byDefault(0.8)
                    .atLeast(0.0)
                    .atMost(1.0)
                    .in(OptionGroup.AUTOTUNE)
                    .help("Accepted because Horovod has it; the search does not use it.");

    public static final Option<Path> AUTOTUNE_FILE =
            Option.path("autotune-file")
                    .environment("HOROVOD_AUTOTUNE_FILE")
                    .in(OptionGroup.AUTOTUNE)
                    .help("A file that stores the best settings. The next run starts with them.");

    public static final Option<LogLevel> LOG_LEVEL =
            Option.choice("log-level", LogLevel.class)
                    .environment("HOROVOD_LOG_LEVEL")
                    .whenUnset("`warning`, or what the application sets up")
                    .lenient()
                    .in(OptionGroup.LOGGING)
                    .help(
                            "The lowest level that is logged. Any other value causes a warning and is"
                                    + " ignored.");

    public static final Option<Boolean> LOG_HIDE_TIME =
            Option.bool("log-without-timestamp", "log-with-timestamp")
                    .flagFor(true, "log-hide-timestamp")
                    .flagFor(false, "no-log-hide-timestamp")
                    .environment("HOROVOD_LOG_HIDE_TIME")
                    .byDefault(!LogSettings.DEFAULT.showsTime())
                    .in(OptionGroup.LOGGING)
                    .help("Omit the time in each line.");

    private static final List<Option<?>> ALL =
            List.of(
                    FUSION_THRESHOLD,
                    CYCLE_TIME,
                    CACHE_CAPACITY,
                    PLAN_LOCKING,
                    DISABLE_GROUP_FUSION,
                    JOIN_AVERAGE,
                    THREAD_AFFINITY,
                    ROUND_BYTES,
                    HELPER_THREADS,
                    STREAMING_STORES,
                    RING_BYTES,
                    STALL_CHECK_DISABLE,
                    STALL_CHECK_TIME,
                    STALL_SHUTDOWN_TIME,
                    STATE_SIGNAL,
                    JVM_HOOKS,
                    TIMELINE,
                    TIMELINE_MARK_CYCLES,
                    TIMELINE_ALL_RANKS,
                    TIMELINE_MAX_BYTES,
                    AUTOTUNE,
                    AUTOTUNE_LOG,
                    AUTOTUNE_WARMUP_SAMPLES,
                    AUTOTUNE_STEPS_PER_SAMPLE,
                    AUTOTUNE_MAX_SAMPLES,
                    AUTOTUNE_NOISE,
                    AUTOTUNE_FILE,
                    LOG_LEVEL,
                    LOG_HIDE_TIME);

    private RuntimeOptions() {}

    static List<Option<?>> all() {
        return ALL;
    }
}
