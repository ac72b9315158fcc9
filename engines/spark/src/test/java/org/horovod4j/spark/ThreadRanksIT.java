package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.LaunchException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import scala.reflect.ClassTag$;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

/// Ranks as threads of one JVM, which is also the driver's.
@Timeout(60)
class ThreadRanksIT {
    private static final CountDownLatch STARTED = new CountDownLatch(2);
    private static final CountDownLatch RELEASED = new CountDownLatch(1);
    private static SparkSession spark;

    @BeforeAll
    static void start() throws Exception {
        spark = TestCluster.start("local[3]", Map.of());
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    @Test
    void eachThreadIsARankWithItsOwnCommunicatorAndOutput() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();

        List<Float> sums =
                HvdSpark.ranks(spark, 3)
                        .output(lines::add)
                        .run(
                                comm -> {
                                    System.out.println("of " + comm.localSize());
                                    float[] values = {comm.rank()};
                                    comm.allreduce("values", values, ReduceOp.SUM);
                                    return values[0] + 10 * comm.rank();
                                });

        assertThat(sums).containsExactly(3f, 13f, 23f);
        assertThat(lines)
                .containsExactlyInAnyOrder(
                        "[0]<stdout>:of 3", "[1]<stdout>:of 3", "[2]<stdout>:of 3");
        assertThat(Hvd.isInitialized()).isFalse();
    }

    @Test
    void hvdIsNotInitializedInThreads() {
        assertThatThrownBy(() -> HvdSpark.execute(spark, 2, comm -> Hvd.barrier()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("Horovod4J is not initialised");
    }

    @Test
    void aTaskThatCannotReachTheDriverSaysSo() throws Exception {
        int closed;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            closed = socket.getLocalPort();
        }
        DriverTicket closedServer =
                new DriverTicket(
                        "127.0.0.1",
                        closed,
                        DriverTicket.newTicket().encode(),
                        Duration.ofSeconds(5),
                        Duration.ofMillis(200));
        SampleRate sampleRate = new SampleRate();
        spark.sparkContext().register(sampleRate);
        WorkerSlotTask task =
                new WorkerSlotTask(
                        closedServer, 0, new RankBody.OfWorker(() -> 0), null, sampleRate);

        List<Object> results =
                JavaSparkContext.fromSparkContext(spark.sparkContext())
                        .parallelize(List.of(0), 1)
                        .rdd()
                        .mapPartitions(task, false, ClassTag$.MODULE$.<Object>apply(Object.class))
                        .toJavaRDD()
                        .collect();

        assertThat(results).hasSize(1);
        assertThat(results.getFirst())
                .isInstanceOf(WorkerSlotTask.NotConnected.class)
                .asString()
                .contains("the driver was not reached", "HvdSpark.ports");
    }

    @Test
    void theNumberOfRanksMayComeFromTheConfiguration() {
        assertThatThrownBy(() -> HvdSpark.ranks(spark))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("spark.horovod.ranks is not set");

        spark.sparkContext().conf().set("spark.horovod.ranks", "2");
        try {
            assertThat(HvdSpark.ranks(spark).run(Communicator::size)).containsExactly(2, 2);
            spark.sparkContext().conf().set("spark.horovod.ranks", "two");
            assertThatThrownBy(() -> HvdSpark.ranks(spark))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("spark.horovod.ranks is 'two'");
        } finally {
            spark.sparkContext().conf().remove("spark.horovod.ranks");
        }
    }

    @Test
    void busySlotsAreReported() throws Exception {
        var other =
                JavaSparkContext.fromSparkContext(spark.sparkContext())
                        .parallelize(List.of(1, 2), 2)
                        .map(
                                it -> {
                                    STARTED.countDown();
                                    RELEASED.await();
                                    return it;
                                })
                        .collectAsync();
        STARTED.await();
        try {
            assertThatThrownBy(
                            () ->
                                    HvdSpark.ranks(spark, 2)
                                            .startTimeout(Duration.ofMillis(500))
                                            .execute(comm -> {}))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("Spark has started 0 of 2 ranks")
                    .hasMessageContaining("other tasks use some of its 3 slots");
        } finally {
            RELEASED.countDown();
        }
        assertThat(other.get()).containsExactly(1, 2);
    }
}
