package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
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

import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

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
}
