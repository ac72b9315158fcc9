package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.apache.spark.ml.Pipeline;
import org.apache.spark.ml.PipelineModel;
import org.apache.spark.ml.PipelineStage;
import org.apache.spark.ml.feature.VectorAssembler;
import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.spark.HvdSpark;
import org.horovod4j.spark.TestCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// The framework-neutral part of estimators, with two executors and a framework of a few lines.
@Timeout(120)
class HvdEstimatorIT {
    private static SparkSession spark;
    @TempDir private static Path folder;

    @BeforeAll
    static void start() throws Exception {
        spark = TestCluster.start("local-cluster[2,1,1024]", Map.of());
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    /// 101 rows of y = 2 a - b, of which b is in an array; the weights differ.
    private static Dataset<Row> rows() {
        return spark.range(0, 101, 1, 3)
                .selectExpr(
                        "id",
                        "id % 10 / 10D as a",
                        "array(cast(id % 7 / 7D as float)) as b",
                        "id % 10 / 5D - id % 7 / 7D as label",
                        "id % 3 as weight",
                        "id >= 90 as test");
    }

    private static LinearEstimator estimator() {
        return new LinearEstimator()
                .setFeaturesCols("a", "b")
                .setNumProc(2)
                .setBatchSize(8)
                .setEpochs(3)
                .setShuffle(false)
                .setVerbose(false)
                .setStore(folder.toUri().toString());
    }

    /// The weights that one process gets from the same steps: rows 0 to 50 and 51 to 100 are on two
    /// ranks, and each step has the next 8 of both.
    private static double[] expected(int epochs, boolean isWeighted) {
        List<Row> rows = rows().orderBy("id").collectAsList();
        double[] weights = new double[2];
        for (int epoch = 0; epoch < epochs; epoch++) {
            for (int step = 0; step < 7; step++) {
                double[] gradient = new double[2];
                double all = 0;
                for (int first : new int[] {0, 51}) {
                    int end = Math.min(first + 8 * step + 8, first == 0 ? 51 : 101);
                    for (int i = first + 8 * step; i < end; i++) {
                        float a = (float) rows.get(i).getDouble(1);
                        float b = (float) rows.get(i).getList(2).getFirst();
                        double weight = isWeighted ? i % 3 : 1;
                        double error = weights[0] * a + weights[1] * b - label(rows.get(i));
                        gradient[0] += weight * 2 * error * a;
                        gradient[1] += weight * 2 * error * b;
                        all += weight;
                    }
                }
                weights[0] -= LinearNetwork.RATE * gradient[0] / all;
                weights[1] -= LinearNetwork.RATE * gradient[1] / all;
            }
        }
        return weights;
    }

    private static float label(Row row) {
        return (float) row.getDouble(3);
    }

    /// Keeps the order of the rows, as files that exist do.
    private static String parquet(String name) {
        String path = folder.resolve(name).toUri().toString();
        rows().selectExpr("id", "a", "b", "label", "weight")
                .coalesce(1)
                .orderBy("id")
                .write()
                .parquet(path);
        return path;
    }

    @Test
    void eachStepIsTheMeanOverTheRowsOfAllRanksAlsoInTheLastOne() {
        LinearModel model = estimator().fitParquet(spark, parquet("mean"));

        assertThat(model.history().metric("slope").getLast())
                .isCloseTo(expected(3, false)[0], within(1e-5));
    }

    @Test
    void rowsCountByTheirWeights() {
        LinearModel model =
                estimator().setWeightCol("weight").fitParquet(spark, parquet("weighted"));

        assertThat(model.history().metric("slope").getLast())
                .isCloseTo(expected(3, true)[0], within(1e-5));
    }

    @Test
    void validatesOnChosenRowsAndPredictsInBatches() {
        LinearModel model =
                estimator().setEpochs(60).setValidationCol("test").setSeed(4).fit(rows());

        assertThat(model.history().epochs()).hasSize(60);
        assertThat(model.history().epochs().getLast())
                .containsOnlyKeys("loss", "slope", "val_loss", "val_slope");
        assertThat(model.history().metric("val_loss").getLast())
                .isLessThan(model.history().metric("val_loss").getFirst() / 10);
        List<Row> predicted = model.setBatchSize(7).transform(rows()).collectAsList();
        assertThat(predicted).hasSize(101);
        for (Row row : predicted) {
            assertThat(row.<Double>getAs("prediction")).isCloseTo(label(row), within(0.2));
            assertThat(row.<Vector>getAs("rawPrediction").apply(0))
                    .isEqualTo(row.<Double>getAs("prediction"));
        }
    }

    @Test
    void executorsLoadANetworkOnce() {
        LinearModel model = estimator().setEpochs(1).fit(rows());
        int before = loadedInAllExecutors();

        Dataset<Row> predicted = model.transform(rows().repartition(12));
        assertThat(predicted.collectAsList()).hasSize(101);
        assertThat(predicted.collectAsList()).hasSize(101);

        assertThat(loadedInAllExecutors() - before).isBetween(1, 2);
    }

    private static int loadedInAllExecutors() {
        return HvdSpark.run(spark, 2, _ -> LinearNetwork.LOADED.get()).stream()
                .mapToInt(Integer::intValue)
                .sum();
    }

    @Test
    void failedFitResumesFromTheLastEpoch() {
        LinearEstimator estimator = estimator().setEpochs(4).setRunId("resumed").setSeed(1);
        LinearEstimator failing =
                estimator
                        .copy(new ParamMap())
                        .setCallback(
                                (comm, epoch, _) -> {
                                    if (epoch == 2 && comm.rank() == 1) {
                                        throw new IllegalStateException("on purpose");
                                    }
                                });
        String path = parquet("resume");
        assertThatThrownBy(() -> failing.fitParquet(spark, path))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("on purpose");

        LinearModel resumed =
                estimator
                        .setCallback(
                                (_, epoch, _) -> {
                                    if (epoch <= 2) {
                                        throw new IllegalStateException("epoch " + epoch);
                                    }
                                })
                        .fitParquet(spark, path);

        assertThat(resumed.history().epochs()).hasSize(4);
        assertThat(resumed.history().metric("slope").getLast())
                .isCloseTo(expected(4, false)[0], within(1e-5));
        // nothing is left to do
        assertThat(estimator.fitParquet(spark, path).history()).isEqualTo(resumed.history());
        var _ = estimator.clear(estimator.callback());
        assertThat(
                        estimator
                                .setResume(false)
                                .setEpochs(1)
                                .fitParquet(spark, path)
                                .history()
                                .epochs())
                .hasSize(1);
    }

    @Test
    void earlyStoppingKeepsTheBestEpoch() {
        // smaller slopes are better here, and the slope rises: the first epoch is the best
        LinearModel model =
                estimator()
                        .setEpochs(200)
                        .setPatience(2)
                        .setMonitor("slope")
                        .setRunId("stopped")
                        .fit(rows());

        List<Double> slopes = model.history().metric("slope");
        assertThat(slopes).hasSize(3).isSorted();
        Row row = model.transform(rows().where("id = 35")).first(); // a = 0.5, b = 0
        assertThat(row.<Double>getAs("prediction")).isCloseTo(slopes.getFirst() / 2, within(1e-6));
    }

    @Test
    void pipelineIsSavedAndLoaded() throws Exception {
        VectorAssembler assembler =
                new VectorAssembler().setInputCols(new String[] {"a"}).setOutputCol("features");
        LinearEstimator estimator =
                estimator().setFeaturesCol("features").setCallback((_, _, _) -> {});
        Pipeline pipeline = new Pipeline().setStages(new PipelineStage[] {assembler, estimator});
        String path = folder.resolve("pipeline").toUri().toString();
        pipeline.write().overwrite().save(path);
        Pipeline loaded = Pipeline.load(path);
        assertThat(loaded.getStages()[1].extractParamMap().toString().lines().count())
                .isEqualTo(estimator.extractParamMap().toString().lines().count());
        assertThat(loaded.getStages()[1].uid()).isEqualTo(estimator.uid());

        PipelineModel model = loaded.fit(rows());
        String modelPath = folder.resolve("pipeline-model").toUri().toString();
        model.write().overwrite().save(modelPath);
        PipelineModel again = PipelineModel.load(modelPath);

        assertThat(again.transform(rows()).orderBy("id").collectAsList())
                .isEqualTo(model.transform(rows()).orderBy("id").collectAsList());
        assertThat(((LinearModel) again.stages()[1]).history())
                .isEqualTo(((LinearModel) model.stages()[1]).history());
    }

    @Test
    void wrongParametersAreRejected() {
        assertThatThrownBy(() -> estimator().setFeaturesCol("c").fit(rows()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(
                        "the features column 'c' is not in the data, which have the columns [id, a, b, label, weight, test]");
        assertThatThrownBy(
                        () ->
                                estimator()
                                        .setLabelCol("name")
                                        .fit(rows().selectExpr("*", "'x' as name")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("the label column 'name' has type string");
        assertThatThrownBy(() -> estimator().setBatchSize(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("parameter batchSize given invalid value 0");
        for (String id : List.of("", "..", "../..", "a/../b", ".a")) {
            LinearEstimator wrong = estimator().setRunId(id).setResume(false);
            assertThatThrownBy(() -> wrong.fit(rows()))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("the runId '" + id + "': use letters, digits, ");
            assertThatThrownBy(() -> wrong.fitParquet(spark, "file:///there-is-no-such-file"))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("the runId '" + id + "'");
        }
        assertThatThrownBy(() -> estimator().setPredictionCol("a").fit(rows()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("the data have a column 'a' already");
        assertThatThrownBy(
                        () ->
                                estimator()
                                        .setValidationCol("test")
                                        .setValidationFraction(0.5)
                                        .fit(rows()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("both validationFraction and validationCol are set");
        assertThatThrownBy(() -> estimator().setNumProc(3).setStartTimeout(1).fit(rows()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("3 ranks need as many slots");
        assertThatThrownBy(() -> estimator().fit(rows().limit(1)))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("1 rows are too few for 2 ranks");
        assertThatThrownBy(() -> estimator().setMonitor("accuracy").setPatience(1).fit(rows()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("there is no metric 'accuracy'");
        assertThatThrownBy(
                        () ->
                                estimator()
                                        .setWeightCol("negative")
                                        .fit(rows().selectExpr("*", "-1 as negative")))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("column 'negative' has the weight -1.0");
    }
}
