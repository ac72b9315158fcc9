package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.testsupport.ParsedTrace;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/// Ranks in two executors, which are processes of their own.
@Timeout(120)
class HvdSparkIT {
    private static SparkSession spark;

    @BeforeAll
    static void start() throws Exception {
        spark = TestCluster.start("local-cluster[2,1,1024]", Map.of());
        HvdSpark.ranks(spark, 2).startTimeout(Duration.ofMinutes(1)).execute(comm -> {});
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    record Place(int rank, int size, int localSize, long pid, float sum) implements Serializable {
        static Place of(Communicator comm) {
            float[] values = {comm.rank() + 1};
            comm.allreduce("values", values, ReduceOp.SUM);
            return new Place(
                    comm.rank(),
                    comm.size(),
                    comm.localSize(),
                    ProcessHandle.current().pid(),
                    values[0]);
        }
    }

    @Test
    void resultsComeInTheOrderOfRanks() {
        assertJobsRun();
    }

    private static void assertJobsRun() {
        List<Place> places = HvdSpark.run(spark, 2, Place::of);

        assertThat(places).extracting(Place::rank).containsExactly(0, 1);
        assertThat(places).extracting(Place::size).containsOnly(2);
        assertThat(places).extracting(Place::localSize).containsOnly(2);
        assertThat(places).extracting(Place::sum).containsOnly(3f);
        assertThat(places)
                .extracting(Place::pid)
                .doesNotHaveDuplicates()
                .doesNotContain(ProcessHandle.current().pid());
    }

    @Test
    void theOnlyRankOfAnExecutorMayUseHvd() {
        List<Integer> ranks =
                HvdSpark.run(
                        spark,
                        2,
                        comm -> {
                            Hvd.barrier();
                            return Hvd.rank();
                        });

        assertThat(ranks).containsExactly(0, 1);
        assertThat(Hvd.isInitialized()).isFalse();
    }

    @Test
    void aFunctionMayReturnNull() {
        List<@Nullable Object> results = HvdSpark.run(spark, 2, comm -> null);

        assertThat(results).containsExactly(null, null);
    }

    @Test
    void theDriverPrintsLinesWithTheirRank() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();

        HvdSpark.ranks(spark, 2)
                .output(lines::add)
                .execute(
                        comm -> {
                            System.out.println("hello\nfrom " + comm.rank());
                            System.err.print("no line end");
                        });

        assertThat(lines)
                .containsExactlyInAnyOrder(
                        "[0]<stdout>:hello",
                        "[0]<stdout>:from 0",
                        "[0]<stderr>:no line end",
                        "[1]<stdout>:hello",
                        "[1]<stdout>:from 1",
                        "[1]<stderr>:no line end");
    }

    @Test
    void manyLinesArriveInOrder() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        int count = 3 * TaskOutput.MAX_LINES;

        HvdSpark.ranks(spark, 1)
                .output(lines::add)
                .execute(comm -> IntStream.range(0, count).forEach(System.out::println));

        assertThat(lines)
                .containsExactlyElementsOf(
                        IntStream.range(0, count).mapToObj(i -> "[0]<stdout>:" + i).toList());
    }

    @Test
    void anExceptionOfARankIsTheCauseAndEndsTheOthers() {
        LaunchException failure =
                catchThrowableOfType(
                        LaunchException.class,
                        () ->
                                HvdSpark.execute(
                                        spark,
                                        2,
                                        comm -> {
                                            if (comm.rank() == 1) {
                                                throw new IllegalStateException("no data");
                                            }
                                            comm.barrier();
                                        }));

        assertThat(failure)
                .hasMessageStartingWith("rank 1 on ")
                .hasMessageContaining("threw java.lang.IllegalStateException: no data")
                .hasCauseInstanceOf(IllegalStateException.class);
        assertThat(failure.rank()).hasValue(1);
        assertJobsRun();
    }

    /// When a rank leaves, the other one fails, and Spark kills the task of the first.
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anExceptionIsReportedBeforeItsRankLeaves(boolean inProcesses) {
        HvdSpark ranks = HvdSpark.ranks(spark, 2);
        assertThatThrownBy(
                        () ->
                                (inProcesses ? ranks.processes("-XX:TieredStopAtLevel=1") : ranks)
                                        .execute(
                                                comm -> {
                                                    if (comm.rank() == 1) {
                                                        throw new SlowException();
                                                    }
                                                    comm.barrier();
                                                }))
                .isInstanceOf(LaunchException.class)
                .hasMessageStartingWith("rank 1 on ")
                .hasMessageContaining("threw " + SlowException.class.getName() + ": no data");
        assertJobsRun();
    }

    /// `getMessage()` takes two seconds once its rank has left the job.
    private static final class SlowException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private transient boolean mayBeSlow = true; // not on the driver

        @Override
        public String getMessage() {
            if (mayBeSlow && !Hvd.isInitialized()) {
                mayBeSlow = false;
                long end = System.nanoTime() + Duration.ofSeconds(2).toNanos();
                while (System.nanoTime() < end) { // an interrupt does not end it
                    Thread.onSpinWait();
                }
            }
            return "no data";
        }
    }

    @Test
    void theLossOfAnExecutorIsReportedAndTheNextJobRuns() {
        LaunchException failure =
                catchThrowableOfType(
                        LaunchException.class,
                        () ->
                                HvdSpark.execute(
                                        spark,
                                        2,
                                        comm -> {
                                            if (comm.rank() == 1) {
                                                Runtime.getRuntime().halt(9);
                                            }
                                            comm.barrier();
                                        }));

        assertThat(failure)
                .hasMessageStartingWith("rank 1 on ")
                .hasMessageContaining("ended before its function returned");
        assertThat(HvdSpark.ranks(spark, 2).startTimeout(Duration.ofMinutes(1)).run(Place::of))
                .hasSize(2);
    }

    @Test
    void tooFewSlotsNameTheSettingsOfSpark() {
        assertThatThrownBy(
                        () ->
                                HvdSpark.ranks(spark, 3)
                                        .startTimeout(Duration.ofMillis(200))
                                        .execute(comm -> {}))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("3 ranks need as many slots of executors at the same time")
                .hasMessageContaining("spark.executor.instances")
                .hasMessageContaining("spark.task.cpus (it is 1)");
    }

    @Test
    void ranksOfACancelledJobEnd() throws Exception {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<?> job =
                    threads.submit(
                            () ->
                                    HvdSpark.ranks(spark, 2)
                                            .output(lines::add)
                                            .execute(HvdSparkIT::waitForEver));
            await().atMost(Duration.ofMinutes(1)).until(() -> lines.size() == 2);

            spark.sparkContext().cancelAllJobs();

            assertThatThrownBy(job::get)
                    .hasCauseInstanceOf(LaunchException.class)
                    .hasMessageContaining("the Spark job was cancelled");
        }
        assertJobsRun();
    }

    @Test
    void anInterruptOfTheDriverEndsTheRanks() throws Exception {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        CountDownLatch isInterrupted = new CountDownLatch(1);
        Thread driver =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    try {
                                        HvdSpark.ranks(spark, 2)
                                                .output(lines::add)
                                                .execute(HvdSparkIT::waitForEver);
                                    } catch (LaunchException e) {
                                        if (Thread.currentThread().isInterrupted()) {
                                            isInterrupted.countDown();
                                        }
                                    }
                                });
        await().atMost(Duration.ofMinutes(1)).until(() -> lines.size() == 2);

        driver.interrupt();

        driver.join();
        assertThat(isInterrupted.getCount()).isZero();
        assertJobsRun();
    }

    /// Rank 0 waits for rank 1 in a collective; rank 1 sleeps.
    private static void waitForEver(Communicator comm) throws InterruptedException {
        System.out.println("ready");
        if (comm.rank() == 0) {
            comm.barrier();
        }
        Thread.sleep(Duration.ofHours(1));
    }

    @Test
    void eachRankGetsOnePartition() {
        List<Integer> sums =
                HvdSpark.ranks(spark, 2)
                        .run(
                                JavaSparkContext.fromSparkContext(spark.sparkContext())
                                        .parallelize(List.of(1, 2, 3, 4), 2),
                                (comm, rows) -> {
                                    int[] sum = {0};
                                    rows.forEachRemaining(row -> sum[0] += row);
                                    comm.allreduce("sum", sum, ReduceOp.SUM);
                                    return sum[0];
                                });

        assertThat(sums).containsExactly(10, 10);
    }

    @Test
    void partitionsMayTakeLongerToComputeThanRanksToStart() {
        Duration startTimeout = Duration.ofSeconds(10);
        long pauseMillis = startTimeout.plusSeconds(2).toMillis();

        List<Integer> counts =
                HvdSpark.ranks(spark, 2)
                        .startTimeout(startTimeout)
                        .run(
                                JavaSparkContext.fromSparkContext(spark.sparkContext())
                                        .parallelize(List.of(1, 2), 2)
                                        .map(
                                                it -> {
                                                    Thread.sleep(pauseMillis);
                                                    return it;
                                                })
                                        .repartition(2),
                                (comm, rows) -> {
                                    int[] count = {0};
                                    rows.forEachRemaining(_ -> count[0]++);
                                    comm.allreduce("count", count, ReduceOp.SUM);
                                    return count[0];
                                });

        assertThat(counts).containsExactly(2, 2);
    }

    @Test
    void anRddWithAnotherNumberOfPartitionsIsRefused() {
        assertThatThrownBy(
                        () ->
                                HvdSpark.ranks(spark, 2)
                                        .run(
                                                JavaSparkContext.fromSparkContext(
                                                                spark.sparkContext())
                                                        .parallelize(List.of(1, 2, 3), 3),
                                                (comm, rows) -> 0))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("3 partitions, and the job has 2 ranks");
    }

    @Test
    void ranksMayBeProcessesOfTheirOwn() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();

        List<Place> places =
                HvdSpark.ranks(spark, 2)
                        .processes("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
                        .output(lines::add)
                        .run(
                                comm -> {
                                    System.out.println("outside of Spark: " + TaskContext.get());
                                    return Place.of(Hvd.communicator());
                                });

        assertThat(places).extracting(Place::sum).containsExactly(3f, 3f);
        assertThat(places).extracting(Place::localSize).containsOnly(2);
        assertThat(lines)
                .containsExactlyInAnyOrder(
                        "[0]<stdout>:outside of Spark: null", "[1]<stdout>:outside of Spark: null");
        assertThat(places).allSatisfy(place -> assertThat(ProcessHandle.of(place.pid())).isEmpty());
    }

    @Test
    void aProcessMayWriteFilesAndLeaveProcessesWhichEndWithIt() {
        List<Long> pids =
                HvdSpark.ranks(spark, 1)
                        .processes("-XX:TieredStopAtLevel=1")
                        .run(
                                comm -> {
                                    Path file = Path.of("written-by-rank");
                                    Files.writeString(file, "0");
                                    Files.delete(file);
                                    // Holds standard output open.
                                    return new ProcessBuilder("sleep", "600")
                                            .inheritIO()
                                            .start()
                                            .pid();
                                });

        await().until(() -> ProcessHandle.of(pids.getFirst()).isEmpty());
    }

    @Test
    void aResultThatCannotBeSerializedIsNamed() {
        assertThatThrownBy(
                        () ->
                                HvdSpark.ranks(spark, 1)
                                        .processes("-XX:TieredStopAtLevel=1")
                                        .run(comm -> new Object()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("a value that cannot be serialized: java.lang.Object");
        assertThatThrownBy(() -> HvdSpark.run(spark, 1, comm -> new Object()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("NotSerializableException: java.lang.Object");
    }

    @Test
    void aProcessThatDiesIsReported() {
        assertThatThrownBy(
                        () ->
                                HvdSpark.ranks(spark, 2)
                                        .processes("-XX:TieredStopAtLevel=1")
                                        .output(_ -> {})
                                        .execute(
                                                comm -> {
                                                    if (comm.rank() == 1) {
                                                        Runtime.getRuntime().halt(3);
                                                    }
                                                    // so that rank 1 is reported first
                                                    Thread.sleep(3000);
                                                    comm.barrier();
                                                }))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("rank 1 on ")
                .hasMessageContaining("exit code 3");
    }

    @Test
    void theExceptionOfAProcessIsTheCause() {
        assertThatThrownBy(
                        () ->
                                HvdSpark.ranks(spark, 1)
                                        .processes("-XX:TieredStopAtLevel=1")
                                        .execute(
                                                comm -> {
                                                    throw new IllegalStateException("no data");
                                                }))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("rank 0 on ")
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("no data");
    }

    @Test
    void theTimelineHasAllRanks(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("timeline.json");

        HvdSpark.ranks(spark, 2)
                .options(
                        Map.of(
                                "HOROVOD_TIMELINE",
                                file.toString(),
                                "HOROVOD_TIMELINE_ALL_RANKS",
                                "1"))
                .run(Place::of);

        assertThat(ParsedTrace.of(file).on("values", "XB"))
                .filteredOn("ALLREDUCE"::equals)
                .hasSize(2);
        assertThat(Files.readString(file)).contains("rank 0 (").contains("rank 1 (");
    }

    @Test
    void theUiShowsGroupDescriptionAndSamples() {
        HvdSpark.execute(
                spark,
                2,
                comm -> {
                    HvdSpark.countSamples(30);
                    Thread.sleep(20);
                    HvdSpark.countSamples(30);
                });

        var store = spark.sparkContext().statusStore();
        await().untilAsserted(
                        () -> {
                            var job = store.jobsList(null).head();
                            assertThat(job.status()).hasToString("SUCCEEDED");
                            assertThat(job.jobGroup().get()).startsWith("horovod4j-");
                            assertThat(job.description().get())
                                    .isEqualTo(
                                            "Horovod4J: 2 ranks of " + HvdSparkIT.class.getName());
                            var stage = store.lastStageAttempt((int) job.stageIds().head());
                            assertThat(stage.accumulatorUpdates().mkString(" ")).isNotEmpty();
                            assertThat(stage.accumulatorUpdates().head().name())
                                    .isEqualTo("samples");
                            assertThat(stage.accumulatorUpdates().head().value())
                                    .startsWith("120, ")
                                    .endsWith(" per second");
                        });
    }
}
