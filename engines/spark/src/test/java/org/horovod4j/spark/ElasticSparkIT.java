package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.WorkerFunction;
import org.horovod4j.data.Sampling;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ElasticSampler;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.launcher.LaunchException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import scala.jdk.javaapi.CollectionConverters;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// An elastic job in two executors, of which one is killed.
@Timeout(180)
class ElasticSparkIT {
    private static final int SAMPLES = 4000;
    private static final int BATCH = 10;

    private static SparkSession spark;

    @BeforeAll
    static void start() throws Exception {
        spark = TestCluster.start("local-cluster[2,1,1024]", Map.of());
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    /// How a worker ended.
    ///
    /// @param seen how often each sample was trained on, in all workers
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Trained(int size, int generation, long pid, int[] seen) implements Serializable {}

    /// Counts samples, as a training that must not lose or repeat any. Returns when all samples are
    /// done and the lost worker is replaced.
    ///
    /// @param victim the worker whose file does not exist yet ends its JVM in the middle
    private static Trained train(String victim) throws Exception {
        int[] seen = new int[SAMPLES];
        ElasticSampler sampler = new ElasticSampler(SAMPLES, Sampling.shuffled(7));
        ObjectState state =
                new ObjectState().with("seen", seen).with("sampler", sampler).with("full", false);
        Elastic.run(
                state,
                s -> {
                    boolean wasLost = Hvd.membership().generation() > 0;
                    while (sampler.hasNext(BATCH)) {
                        int[] counts = new int[SAMPLES];
                        for (int sample : sampler.nextBatch(BATCH)) {
                            counts[sample]++;
                        }
                        Hvd.allreduce("counts", counts, ReduceOp.SUM);
                        for (int i = 0; i < SAMPLES; i++) {
                            seen[i] += counts[i];
                        }
                        HvdSpark.countSamples(BATCH);
                        s.commit();
                        if (!wasLost && Hvd.rank() == 1 && seen[0] + seen[1] + seen[2] > 0) {
                            Files.writeString(
                                    Path.of(victim), Long.toString(ProcessHandle.current().pid()));
                            Runtime.getRuntime().halt(137);
                        }
                    }
                    // The rest of the job is for the worker that replaces the lost one.
                    while (Hvd.size() < 2) {
                        Thread.sleep(20);
                        Hvd.barrier();
                        s.commit();
                    }
                });
        return new Trained(
                Hvd.size(), Hvd.membership().generation(), ProcessHandle.current().pid(), seen);
    }

    @Test
    void aLostExecutorIsReplacedAndNoSampleIsLostOrRepeated(@TempDir Path folder) throws Exception {
        Path victim = folder.resolve("victim");
        String file = victim.toString();

        List<Trained> trained = HvdSpark.ranks(spark, 2).minRanks(1).runElastic(() -> train(file));

        assertThat(victim).exists();
        assertThat(trained).hasSize(2);
        assertThat(trained).extracting(Trained::size).containsOnly(2);
        assertThat(trained.getFirst().generation()).isPositive();
        assertThat(trained)
                .extracting(Trained::pid)
                .doesNotHaveDuplicates()
                .doesNotContain(Long.parseLong(Files.readString(victim)));
        assertThat(trained)
                .allSatisfy(
                        each -> {
                            assertThat(each.seen()).hasSize(SAMPLES);
                            assertThat(each.seen()).containsOnly(1);
                        });
        var jobs = CollectionConverters.asJava(spark.sparkContext().statusStore().jobsList(null));
        assertThat(jobs)
                .anyMatch(
                        job ->
                                job.jobGroup().get().startsWith("horovod4j-")
                                        && job.description()
                                                .get()
                                                .matches(
                                                        "Horovod4J: elastic worker \\d+ of .*ElasticSparkIT"));
    }

    @Test
    void aFunctionThatAlwaysThrowsEndsTheJob() {
        assertThatThrownBy(
                        () ->
                                HvdSpark.ranks(spark, 2)
                                        .minRanks(2)
                                        .runElastic(
                                                () -> {
                                                    throw new IllegalStateException("no data");
                                                }))
                .isInstanceOf(LaunchException.class)
                .hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void cancellingItsSparkJobsEndsTheJob() throws Exception {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<?> job =
                    threads.submit(
                            () ->
                                    HvdSpark.ranks(spark, 2)
                                            .minRanks(1)
                                            .output(lines::add)
                                            .runElastic(ElasticSparkIT::trainForEver));
            try {
                await().atMost(Duration.ofMinutes(1))
                        .until(
                                () ->
                                        lines.stream().filter(it -> it.contains("trains")).count()
                                                == 2);

                spark.sparkContext().cancelAllJobs();

                assertThatThrownBy(job::get)
                        .hasCauseInstanceOf(LaunchException.class)
                        .hasMessageContaining("the Spark job was cancelled");
            } finally {
                job.cancel(true);
            }
        }
        assertThat(HvdSpark.run(spark, 2, Communicator::size)).containsExactly(2, 2);
    }

    private static int trainForEver() {
        ObjectState state = new ObjectState().with("step", 0);
        Elastic.run(
                state,
                s -> {
                    System.out.println("trains");
                    while (s.getInt("step") >= 0) {
                        Hvd.barrier();
                        s.set("step", s.getInt("step") + 1);
                        s.commit();
                    }
                });
        return state.getInt("step");
    }

    /// Ends the first executor that reads it, before the task has connected to the driver.
    private static final class EndsAnExecutor implements WorkerFunction<Integer> {
        private static final long serialVersionUID = 1L;

        private final String file;

        EndsAnExecutor(String file) {
            this.file = file;
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            try {
                Files.createFile(Path.of(file));
            } catch (FileAlreadyExistsException e) {
                return; // not the first
            }
            Runtime.getRuntime().halt(137);
        }

        @Override
        public Integer call() {
            ObjectState state = new ObjectState().with("step", 0);
            Elastic.run(state, s -> s.set("step", Hvd.size()));
            return state.getInt("step");
        }
    }

    @Test
    void anExecutorThatIsLostWhileItStartsIsReplaced(@TempDir Path folder) {
        Path lost = folder.resolve("lost");

        List<Integer> sizes =
                HvdSpark.ranks(spark, 2).runElastic(new EndsAnExecutor(lost.toString()));

        assertThat(lost).exists();
        assertThat(sizes).containsExactly(2, 2);
    }

    /// Fails on the second worker twice, then trains with its third replacement.
    private static int failTwice(String folder) throws Exception {
        ObjectState state = new ObjectState().with("step", 0);
        Elastic.run(
                state,
                s -> {
                    if (Hvd.rank() == 1) {
                        for (int i = 1; i <= 2; i++) {
                            try {
                                Files.createFile(Path.of(folder, "failure" + i));
                            } catch (FileAlreadyExistsException e) {
                                continue;
                            }
                            throw new IllegalStateException("failure " + i);
                        }
                    }
                    while (Hvd.size() < 2 || Hvd.membership().generation() < 3) {
                        Hvd.barrier();
                        Thread.sleep(20);
                        s.commit();
                    }
                });
        return Hvd.size();
    }

    @Test
    void aHostOnWhichWorkersFailTwiceIsBlacklistedForAWhile(@TempDir Path folder) {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        String files = folder.toString();

        List<Integer> sizes =
                HvdSpark.ranks(spark, 2)
                        .minRanks(1)
                        .cooldown(Duration.ofSeconds(1), Duration.ofMinutes(5))
                        .output(lines::add)
                        .runElastic(() -> failTwice(files));

        assertThat(sizes).containsExactly(2, 2);
        assertThat(lines)
                .anyMatch(it -> it.startsWith("horovod4j: generation 0: 2 workers"))
                .anyMatch(it -> it.contains("Its slot gets another try."))
                .anyMatch(it -> it.matches("horovod4j: .*Host .* is blacklisted.*for 1 s\\."));
    }

    @Test
    void speculationIsRefused() {
        spark.sparkContext().conf().set("spark.speculation", "true");
        spark.sparkContext().conf().set("spark.speculation.task.duration.threshold", "1min");
        try {
            assertThatThrownBy(() -> HvdSpark.runElastic(spark, () -> 0, 1, 2))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("Set spark.speculation to false");
        } finally {
            spark.sparkContext().conf().remove("spark.speculation");
            spark.sparkContext().conf().remove("spark.speculation.task.duration.threshold");
        }
    }
}
