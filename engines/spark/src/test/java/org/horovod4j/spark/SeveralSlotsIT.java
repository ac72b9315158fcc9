package org.horovod4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.launcher.LaunchException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.Serializable;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/// An executor with two cores: ranks are threads of its JVM, or processes that it starts.
@Timeout(120)
class SeveralSlotsIT {
    private static SparkSession spark;

    @BeforeAll
    static void start() throws Exception {
        spark =
                TestCluster.start(
                        "local-cluster[1,2,1024]",
                        Map.of(
                                "spark.hadoop.test.key",
                                "a secret",
                                "spark.hadoop.test.other",
                                "x"));
        HvdSpark.ranks(spark, 2).startTimeout(Duration.ofMinutes(1)).execute(comm -> {});
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    record Place(int localRank, long pid, long thread, float sum) implements Serializable {
        static Place of(Communicator comm) {
            float[] values = {comm.rank() + 1};
            comm.allreduce("values", values, ReduceOp.SUM);
            return new Place(
                    comm.localRank(),
                    ProcessHandle.current().pid(),
                    Thread.currentThread().threadId(),
                    values[0]);
        }
    }

    @Test
    void ranksAreThreadsOfTheExecutor() {
        List<Place> places = HvdSpark.run(spark, 2, Place::of);

        assertThat(places).extracting(Place::localRank).containsExactly(0, 1);
        assertThat(places).extracting(Place::sum).containsOnly(3f);
        assertThat(places).extracting(Place::thread).doesNotHaveDuplicates();
        assertThat(places.get(0).pid())
                .isEqualTo(places.get(1).pid())
                .isNotEqualTo(ProcessHandle.current().pid());
    }

    @Test
    void aFrameworkThatNeedsHvdRunsInProcesses() {
        assertThatThrownBy(() -> HvdSpark.execute(spark, 2, comm -> Hvd.barrier()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("Horovod4J is not initialised");

        List<Place> places =
                HvdSpark.ranks(spark, 2)
                        .processes("-XX:TieredStopAtLevel=1")
                        .run(comm -> Place.of(Hvd.communicator()));

        assertThat(places).extracting(Place::sum).containsOnly(3f);
        assertThat(places).extracting(Place::pid).doesNotHaveDuplicates();
    }

    private static List<String> hadoopSettings(Communicator comm) {
        Configuration hadoop = SparkHadoopUtil.get().conf();
        String command = ProcessHandle.current().info().commandLine().orElse("");
        return List.of(
                hadoop.get("test.key", "no key"),
                hadoop.get("test.other", "nothing"),
                command.contains("a secret") ? "visible" : "hidden");
    }

    @Test
    void aProcessHasTheHadoopSettingsOfTheApplication() {
        assertThat(
                        HvdSpark.ranks(spark, 2)
                                .processes("-XX:TieredStopAtLevel=1", "-Dspark.hadoop.test.other=y")
                                .run(SeveralSlotsIT::hadoopSettings))
                .containsOnly(List.of("a secret", "y", "hidden"));
    }

    private static int sizeOfElasticJob() {
        ObjectState state = new ObjectState().with("size", 0);
        Elastic.run(state, s -> s.set("size", Hvd.size()));
        return state.getInt("size");
    }

    @Test
    void elasticWorkersOfOneExecutorNeedProcesses() {
        assertThatThrownBy(() -> HvdSpark.runElastic(spark, SeveralSlotsIT::sizeOfElasticJob, 2, 2))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("two elastic workers would run in one executor")
                .hasMessageContaining("spark.task.cpus");

        assertThat(
                        HvdSpark.ranks(spark, 2)
                                .processes("-XX:TieredStopAtLevel=1")
                                .runElastic(SeveralSlotsIT::sizeOfElasticJob))
                .containsExactly(2, 2);
    }
}
