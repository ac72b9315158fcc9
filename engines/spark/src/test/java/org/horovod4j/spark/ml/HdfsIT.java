package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.spark.HvdSpark;
import org.horovod4j.spark.TestCluster;
import org.horovod4j.spark.data.ColumnRequest;
import org.horovod4j.spark.data.EpochBatches;
import org.horovod4j.spark.data.RankReader;
import org.horovod4j.spark.data.ReadOptions;
import org.horovod4j.spark.data.Store;
import org.horovod4j.spark.data.StoredData;
import org.horovod4j.spark.data.WriteOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/// Training data, checkpoints and saved models on HDFS, with real executors.
@Tag("slow")
@Timeout(180)
class HdfsIT {
    private static MiniDFSCluster hdfs;
    private static SparkSession spark;

    @BeforeAll
    static void start(@TempDir Path folder) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.toString());
        hdfs = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
        hdfs.waitActive();
        spark = TestCluster.start("local-cluster[2,1,1024]", Map.of());
    }

    @AfterAll
    static void stop() {
        spark.stop();
        hdfs.close();
    }

    private static boolean exists(String path) throws Exception {
        FileSystem files = hdfs.getFileSystem();
        return files.exists(new org.apache.hadoop.fs.Path(path));
    }

    @Test
    void ranksReadWhatExecutorsWroteAndItIsRemoved() throws Exception {
        Store store = Store.at(hdfs.getURI() + "/store");
        StoredData data =
                store.write(
                        spark.range(0, 1003, 1, 7).toDF("id"),
                        List.of(ColumnRequest.of("id")),
                        WriteOptions.forRanks(2));
        ReadOptions options =
                ReadOptions.batches(32)
                        .withSampling(Sampling.shuffled(3).withLastBatch(LastBatch.UNEVEN));
        assertThat(exists(data.folder())).isTrue();

        for (HvdSpark job :
                List.of(HvdSpark.ranks(spark, 2), HvdSpark.ranks(spark, 2).processes())) {
            List<long[]> byRank =
                    job.run(
                            comm -> {
                                LongStream.Builder ids = LongStream.builder();
                                try (RankReader reader = data.training().reader(options, comm);
                                        EpochBatches batches = reader.epoch(0)) {
                                    batches.forEachRemaining(
                                            each -> Arrays.stream(each.longs("id")).forEach(ids));
                                }
                                return ids.build().toArray();
                            });

            assertThat(byRank.stream().flatMapToLong(Arrays::stream).sorted().toArray())
                    .isEqualTo(LongStream.range(0, 1003).toArray());
        }
        store.remove(data);
        assertThat(exists(data.folder())).isFalse();
    }

    @Test
    void aFitResumesAndItsModelIsSaved() throws Exception {
        Dataset<Row> rows =
                spark.range(0, 101, 1, 3)
                        .selectExpr("id % 10 / 10D as a", "id % 7 / 7D as b", "id / 100D as label");
        LinearEstimator estimator =
                new LinearEstimator()
                        .setFeaturesCols("a", "b")
                        .setNumProc(2)
                        .setBatchSize(8)
                        .setEpochs(3)
                        .setSeed(1)
                        .setVerbose(false)
                        .setRunId("resumed")
                        .setStore(hdfs.getURI() + "/fit");
        LinearEstimator failing =
                estimator
                        .copy(new ParamMap())
                        .setCallback(
                                (comm, epoch, _) -> {
                                    if (epoch == 2 && comm.rank() == 1) {
                                        throw new IllegalStateException("on purpose");
                                    }
                                });
        assertThatThrownBy(() -> failing.fit(rows))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("on purpose");

        LinearModel resumed = estimator.fit(rows);
        String saved = hdfs.getURI() + "/model";
        resumed.write().save(saved);

        assertThat(resumed.history().epochs()).hasSize(3);
        assertThat(exists("/fit/runs/resumed")).isTrue();
        assertThat(LinearModel.read().load(saved).transform(rows).collectAsList())
                .isEqualTo(resumed.transform(rows).collectAsList());
    }
}
