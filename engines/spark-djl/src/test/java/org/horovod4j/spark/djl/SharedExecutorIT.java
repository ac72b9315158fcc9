package org.horovod4j.spark.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.nn.core.Linear;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;

/// An executor with two slots: DJL can run once in a JVM.
@Timeout(120)
class SharedExecutorIT {
    @TempDir private Path folder;

    @Test
    void eachRankHasAProcess() throws Exception {
        SparkSession spark =
                SparkSession.builder()
                        .master("local[2]")
                        .config("spark.ui.enabled", "false")
                        .getOrCreate();
        try {
            Dataset<Row> rows =
                    spark.range(0, 40, 1, 2)
                            .selectExpr("id / 40D as features", "id / 20D as label");
            String pids = folder.resolve("pid-").toString();

            DjlModel model =
                    new DjlEstimator()
                            .setBlock(() -> Linear.builder().setUnits(1).build())
                            .setLoss(Loss::l2Loss)
                            .setOptimizer(_ -> Optimizer.adam().build())
                            .setNumProc(2)
                            .setBatchSize(4)
                            .setStore(folder.resolve("store").toUri().toString())
                            .setCallback(
                                    (comm, _, _) ->
                                            Files.writeString(
                                                    Path.of(pids + comm.rank()),
                                                    String.valueOf(ProcessHandle.current().pid())))
                            .fit(rows);

            assertThat(model.history().metric("loss")).hasSize(1);
            Set<String> processes = new TreeSet<>();
            for (int rank = 0; rank < 2; rank++) {
                processes.add(Files.readString(Path.of(pids + rank)));
            }
            processes.add(String.valueOf(ProcessHandle.current().pid()));
            assertThat(processes).hasSize(3);
            assertThat(model.transform(rows).count()).isEqualTo(40);
        } finally {
            spark.stop();
        }
    }
}
