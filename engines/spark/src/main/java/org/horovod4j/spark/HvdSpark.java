package org.horovod4j.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.ConfigurationException;
import org.horovod4j.RankAction;
import org.horovod4j.RankFunction;
import org.horovod4j.WorkerFunction;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.option.Options;
import org.jspecify.annotations.Nullable;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Consumer;

/// Runs functions as ranks inside the executors of a Spark application.
///
/// ```java
/// List<Double> losses = HvdSpark.run(spark, 4, comm -> train(comm, epochs));
/// ```
///
/// Each rank is a task of one barrier stage, so all of them run at once. Ranks of one machine share
/// memory. Spark serializes the function and its results, as it does with those of an RDD. With
/// [#ranks] come settings:
///
/// ```java
/// HvdSpark.ranks(spark, 4)
///         .startTimeout(Duration.ofMinutes(5))
///         .options(Map.of("HOROVOD_FUSION_THRESHOLD", "16M"))
///         .run(comm -> train(comm, epochs));
/// ```
///
/// If an executor runs one rank, the function may use `Hvd` too. Several ranks of one executor are
/// threads of its JVM; each has its communicator alone. With [#processes] each rank has a process of
/// its own.
public final class HvdSpark {
    /// The name of the accumulator in the Spark UI.
    static final String SAMPLES = "samples";

    private static final String RANKS = "spark.horovod.ranks";
    private static final String MIN_RANKS = "spark.horovod.minRanks";
    private static final String MAX_RANKS = "spark.horovod.maxRanks";

    private static final int MAX_FIRST_PORT = 65_533;

    private final SparkContext spark;
    private final int ranks;
    private final Map<String, String> options = new HashMap<>();
    private ProcessRank.@Nullable JvmOptions processOptions;
    private boolean isProcessIfShared;
    private int firstPort;
    private int minRanks;
    private int maxRanks;
    private int resetLimit = ElasticLimits.UNLIMITED;
    private Cooldown cooldown = Cooldown.DEFAULT;
    private RunSettings.Printer printer =
            (isError, line) -> (isError ? System.err : System.out).println(line);

    private HvdSpark(SparkSession spark, int ranks) {
        if (ranks < 1) {
            throw new ConfigurationException(
                    "%d ranks: give a number of 1 or more.".formatted(ranks));
        }
        this.spark = spark.sparkContext();
        this.ranks = ranks;
    }

    /// A job of this many ranks, with settings.
    public static HvdSpark ranks(SparkSession spark, int ranks) {
        return new HvdSpark(spark, ranks);
    }

    /// A job of as many ranks as the property `spark.horovod.ranks` says, with settings. A job file
    /// with `engine: spark` sets it, and for an elastic job `spark.horovod.minRanks` and
    /// `spark.horovod.maxRanks`.
    ///
    /// @throws ConfigurationException when the property is not set
    public static HvdSpark ranks(SparkSession spark) {
        SparkConf conf = spark.sparkContext().getConf();
        HvdSpark job = new HvdSpark(spark, count(conf, RANKS).orElseThrow(HvdSpark::noRanks));
        count(conf, MIN_RANKS).ifPresent(job::minRanks);
        count(conf, MAX_RANKS).ifPresent(job::maxRanks);
        return job;
    }

    private static OptionalInt count(SparkConf conf, String property) {
        if (!conf.contains(property)) {
            return OptionalInt.empty();
        }
        String text = conf.get(property).strip();
        if (!text.matches("[1-9]\\d{0,5}")) {
            throw new ConfigurationException(
                    "%s is '%s': give a number of 1 or more.".formatted(property, text));
        }
        return OptionalInt.of(Integer.parseInt(text));
    }

    private static ConfigurationException noRanks() {
        return new ConfigurationException(
                """
                the number of ranks is not given: %s is not set
                Submit the program by a job file with engine: spark, by spark-submit --conf %1$s=4, or call HvdSpark.ranks(spark, 4)."""
                        .formatted(RANKS));
    }

    /// Runs `function` on each of this many ranks.
    ///
    /// @return what it returned, by rank
    /// @throws ConfigurationException when Spark has too few slots, or a setting is wrong
    /// @throws org.horovod4j.launcher.LaunchException when it failed on a rank
    public static <R extends @Nullable Object> List<R> run(
            SparkSession spark, int ranks, RankFunction<R> function) {
        return ranks(spark, ranks).run(function);
    }

    /// Runs `action` on each of this many ranks.
    ///
    /// @throws ConfigurationException when Spark has too few slots, or a setting is wrong
    /// @throws org.horovod4j.launcher.LaunchException when it failed on a rank
    public static void execute(SparkSession spark, int ranks, RankAction action) {
        ranks(spark, ranks).execute(action);
    }

    /// Runs `function` on `min` to `max` workers of an elastic job; see [#runElastic(WorkerFunction)].
    ///
    /// @return what it returned on the workers that took part until the end, by rank
    /// @throws ConfigurationException when a setting is wrong
    /// @throws org.horovod4j.launcher.LaunchException when the job failed
    public static <R extends @Nullable Object> List<R> runElastic(
            SparkSession spark, WorkerFunction<R> function, int min, int max) {
        return ranks(spark, min).maxRanks(max).runElastic(function);
    }

    /// Counts samples that this rank has trained on. The page of the stage in the Spark UI shows
    /// their number and rate, of each rank and of all. Does nothing outside of an executor.
    public static void countSamples(long count) {
        SampleRate.report(count);
    }

    /// How long Spark may take to have enough executors, and then to start all ranks.
    public HvdSpark startTimeout(Duration timeout) {
        options.put(Options.START_TIMEOUT.variable(), Options.START_TIMEOUT.format(timeout));
        return this;
    }

    /// Options of the ranks, by the names of their variables (docs/options.md). Those in the
    /// environment of the driver apply too.
    public HvdSpark options(Map<String, String> more) {
        options.putAll(more);
        return this;
    }

    /// Runs each rank in a process of its own, which its executor starts: for frameworks of which a
    /// JVM can hold one rank only, if executors run several tasks at once.
    ///
    /// @param jvmOptions options of these JVMs, such as `-Xmx2g`, beside those of the executor
    public HvdSpark processes(String... jvmOptions) {
        processOptions = new ProcessRank.JvmOptions(List.of(jvmOptions));
        return this;
    }

    /// Runs each rank in a process of its own if an executor has several slots, and in the executor's
    /// JVM otherwise: for code that cannot run twice in one JVM.
    ///
    /// @param jvmOptions options of these JVMs, as in [#processes]
    public HvdSpark processesIfShared(String... jvmOptions) {
        isProcessIfShared = true;
        return processes(jvmOptions);
    }

    /// The first of three consecutive ports at which the driver listens, if a firewall protects it.
    /// Without this, any free ports.
    public HvdSpark ports(int first) {
        if (first < 1 || first > MAX_FIRST_PORT) {
            throw new ConfigurationException(
                    "ports(%d): give the first of three ports, from 1 to %d."
                            .formatted(first, MAX_FIRST_PORT));
        }
        firstPort = first;
        return this;
    }

    /// With how many ranks an elastic job continues after a loss. By default, the number that it
    /// starts with.
    public HvdSpark minRanks(int count) {
        minRanks = count;
        return this;
    }

    /// How many ranks an elastic job has at most. By default, the number that it starts with.
    public HvdSpark maxRanks(int count) {
        maxRanks = count;
        return this;
    }

    /// How often the workers of an elastic job may change. No limit by default.
    public HvdSpark resetLimit(int count) {
        resetLimit = count;
        return this;
    }

    /// How long an elastic job does not use a host on which workers have failed: `shortest` the first
    /// time, twice as long each further time. By default 10 s to 300 s.
    public HvdSpark cooldown(Duration shortest, Duration longest) {
        cooldown = new Cooldown(shortest, longest);
        return this;
    }

    /// Where the lines go that ranks print, instead of `System.out` and `System.err`.
    public HvdSpark output(PrintStream out, PrintStream err) {
        printer = (isError, line) -> (isError ? err : out).println(line);
        return this;
    }

    /// Gets each line that a rank prints, one at a time, on threads of Horovod4J.
    public HvdSpark output(Consumer<String> lines) {
        printer =
                (_, line) -> {
                    synchronized (lines) {
                        lines.accept(line);
                    }
                };
        return this;
    }

    /// Runs `function` on each rank.
    ///
    /// @return what it returned, by rank
    /// @throws ConfigurationException when Spark has too few slots, or a setting is wrong
    /// @throws org.horovod4j.launcher.LaunchException when it failed on a rank
    public <R extends @Nullable Object> List<R> run(RankFunction<R> function) {
        return run(new RankBody.Plain(function), emptyPartitions());
    }

    /// Runs `action` on each rank.
    ///
    /// @throws ConfigurationException when Spark has too few slots, or a setting is wrong
    /// @throws org.horovod4j.launcher.LaunchException when it failed on a rank
    public void execute(RankAction action) {
        List<@Nullable Object> _ = run(new RankBody.Action(action), emptyPartitions());
    }

    /// Runs `function` on each rank, with the rows of one partition. The RDD has as many partitions
    /// as there are ranks. Which rank gets which partition is not defined.
    ///
    /// @return what it returned, by rank
    /// @throws ConfigurationException when the number of partitions is another, Spark has too few
    ///     slots, or a setting is wrong
    /// @throws org.horovod4j.launcher.LaunchException when it failed on a rank
    public <T, R extends @Nullable Object> List<R> run(
            JavaRDD<T> partitions, PartitionFunction<T, R> function) {
        if (partitions.getNumPartitions() != ranks) {
            throw new ConfigurationException(
                    "the RDD has %d partitions, and the job has %d ranks. Call repartition(%2$d)."
                            .formatted(partitions.getNumPartitions(), ranks));
        }
        if (processOptions != null) {
            throw new ConfigurationException(
                    "the rows of partitions are in executors, which the processes of ranks cannot read."
                            + " Leave out processes(), or read the data in the function.");
        }
        return run(new RankBody.OfPartition(function), partitions);
    }

    /// Runs `function` on each worker of an elastic job. It calls `Elastic.run`, and does not call
    /// `Hvd.shutdown`. When an executor is lost, the others continue from their last commit, and
    /// Spark's next executor joins them; see `docs/elastic.md`.
    ///
    /// An executor runs one worker, so it needs one slot (`spark.task.cpus` equal to
    /// `spark.executor.cores`), or [#processes].
    ///
    /// @return what it returned on the workers that took part until the end, by rank
    /// @throws ConfigurationException when a setting is wrong
    /// @throws org.horovod4j.launcher.LaunchException when the job failed
    @SuppressWarnings("unchecked") // each is what the function returned, through Spark
    public <R extends @Nullable Object> List<R> runElastic(WorkerFunction<R> function) {
        ElasticLimits limits =
                new ElasticLimits(
                        ranks,
                        minRanks == 0 ? ranks : minRanks,
                        maxRanks == 0 ? ranks : maxRanks,
                        resetLimit);
        return (List<R>)
                new ElasticRun(settings(), limits, cooldown, new RankBody.OfWorker(function)).run();
    }

    private JavaRDD<Integer> emptyPartitions() {
        return JavaSparkContext.fromSparkContext(spark)
                .parallelize(Collections.nCopies(ranks, 0), ranks);
    }

    @SuppressWarnings("unchecked") // each is what the function returned, through Spark
    private <T, R extends @Nullable Object> List<R> run(
            RankBody.OfRank body, JavaRDD<T> partitions) {
        return (List<R>) new FixedRun(settings(), ranks).run(partitions, body);
    }

    private RunSettings settings() {
        Map<String, String> all = RunSettings.options(System.getenv(), options, spark.getConf());
        JobSettings job = JobSettings.of(all);
        boolean runsProcesses =
                !isProcessIfShared || ExecutorSlots.areShared(spark, ranks, job.startTimeout());
        return new RunSettings(
                spark, all, job, runsProcesses ? processOptions : null, firstPort, printer);
    }
}
