package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/// Spark adds executors when tasks wait.
@Timeout(120)
class DynamicAllocationIT {
    private static SparkSession spark;

    @BeforeAll
    static void start() throws Exception {
        spark =
                TestCluster.start(
                        "local-cluster[2,1,1024]",
                        Map.of(
                                "spark.dynamicAllocation.enabled",
                                "true",
                                "spark.dynamicAllocation.minExecutors",
                                "0",
                                "spark.dynamicAllocation.maxExecutors",
                                "2"));
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    @Test
    void aFixedJobNamesTheSetting() {
        assertThatThrownBy(() -> HvdSpark.execute(spark, 1, comm -> {}))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("Set spark.dynamicAllocation.enabled to false")
                .hasMessageContaining("runElastic");
    }

    /// Trains until two workers take part.
    private static int train() throws Exception {
        ObjectState state = new ObjectState().with("step", 0);
        Elastic.run(
                state,
                s -> {
                    while (Hvd.size() < 2) {
                        Hvd.barrier();
                        Thread.sleep(20);
                        s.commit();
                    }
                });
        return Hvd.size();
    }

    @Test
    void anElasticJobGetsTheExecutorsThatItAsksFor() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();

        List<Integer> sizes =
                HvdSpark.ranks(spark, 1)
                        .maxRanks(3)
                        .output(lines::add)
                        .runElastic(DynamicAllocationIT::train);

        assertThat(sizes).containsExactly(2, 2);
        assertThat(lines).anyMatch(it -> it.contains("spark.dynamicAllocation.maxExecutors is 2"));
    }
}
