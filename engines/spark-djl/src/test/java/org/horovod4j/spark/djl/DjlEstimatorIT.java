package org.horovod4j.spark.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.apache.spark.ml.Pipeline;
import org.apache.spark.ml.PipelineModel;
import org.apache.spark.ml.PipelineStage;
import org.apache.spark.ml.evaluation.MulticlassClassificationEvaluator;
import org.apache.spark.ml.feature.StandardScaler;
import org.apache.spark.ml.feature.VectorAssembler;
import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.testsupport.SparkHome;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Networks of DJL on two executors.
@Timeout(180)
class DjlEstimatorIT {
    private static final int ROWS = 203;
    private static final int BATCH = 16;

    private static SparkSession spark;
    @TempDir private static Path folder;

    @BeforeAll
    static void start() throws Exception {
        SparkSession.Builder builder =
                SparkSession.builder().master("local-cluster[2,1,1024]").appName("djl-test");
        SparkHome.create().forEach(builder::config);
        spark =
                builder.config(
                                "spark.executor.extraJavaOptions",
                                "-XX:TieredStopAtLevel=1 -Dai.djl.offline=true")
                        .getOrCreate();
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    private static Block network() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(Activation::tanh)
                .add(Linear.builder().setUnits(3).build());
    }

    private static DjlEstimator estimator() {
        return new DjlEstimator()
                .setBlock(() -> network())
                .setLoss(Loss::softmaxCrossEntropyLoss)
                .setOptimizer(
                        _ -> Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.02f)).build())
                .setEvaluators(() -> List.of(new Accuracy()))
                .setNumProc(2)
                .setBatchSize(BATCH)
                .setEpochs(3)
                .setSeed(7)
                .setVerbose(false)
                .setStore(folder.toUri().toString());
    }

    /// Points of three classes, which a network can tell apart, with weights from 1 to 3.
    private static Dataset<Row> points() {
        return spark.range(0, ROWS, 1, 3)
                .selectExpr(
                        "id",
                        "cast(id % 3 as int) as label",
                        "cast(1 + id % 5 % 3 as float) as weight",
                        "2 * (id % 3) + sin(id) / 2 as x",
                        "cos(id) as y",
                        "if(id % 3 = 1, 100, 0) + 30 * sin(3 * id) as z",
                        "id % 2 as parity")
                .selectExpr("*", "array(x, y, z / 100, cast(parity as double)) as numbers");
    }

    @Test
    void pipelineLearnsIsSavedAndLoadedAndItsNetworkWorksInPlainDjl() throws Exception {
        VectorAssembler assembler =
                new VectorAssembler()
                        .setInputCols(new String[] {"x", "y", "z", "parity"})
                        .setOutputCol("assembled");
        StandardScaler scaler =
                new StandardScaler()
                        .setInputCol("assembled")
                        .setOutputCol("features")
                        .setWithMean(true);
        DjlEstimator estimator = estimator().setEpochs(15).setValidationFraction(0.2);
        Dataset<Row> points = points().cache();

        PipelineModel model =
                new Pipeline()
                        .setStages(new PipelineStage[] {assembler, scaler, estimator})
                        .fit(points);

        DjlModel trained = (DjlModel) model.stages()[2];
        assertThat(trained.history().epochs()).hasSize(15);
        assertThat(trained.history().metric("val_Accuracy").getLast()).isGreaterThan(0.9);
        Dataset<Row> predicted = model.transform(points).orderBy("id");
        assertThat(
                        new MulticlassClassificationEvaluator()
                                .setMetricName("accuracy")
                                .evaluate(predicted))
                .isGreaterThan(0.9);

        Path saved = folder.resolve("pipeline");
        model.write().overwrite().save(saved.toUri().toString());
        PipelineModel loaded = PipelineModel.load(saved.toUri().toString());
        assertThat(loaded.transform(points).orderBy("id").collectAsList())
                .isEqualTo(predicted.collectAsList());

        Path alone = folder.resolve("alone");
        trained.write().overwrite().save(alone.toUri().toString());
        DjlModel again = DjlModel.load(alone.toUri().toString());
        Vector expected =
                again.transform(spark.sql("select array(0.5D, -1D, 2D, 0.25D) as features"))
                        .first()
                        .getAs("rawPrediction");
        assertThat(plainDjl(alone.resolve("network")))
                .containsExactly(
                        "without org.horovod4j.Hvd",
                        "without org.apache.spark.ml.Model",
                        Arrays.toString(floats(expected)));
    }

    private static float[] floats(Vector vector) {
        float[] values = new float[vector.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) vector.apply(i);
        }
        return values;
    }

    private static List<String> plainDjl(Path network) throws Exception {
        String classPath =
                String.join(
                        File.pathSeparator,
                        Arrays.stream(TestJvm.CLASS_PATH.split(File.pathSeparator))
                                .filter(
                                        part ->
                                                part.endsWith(".jar")
                                                        && !part.contains("horovod4j")
                                                        && !part.contains("spark"))
                                .toList());
        Path program =
                Path.of(DjlEstimatorIT.class.getResource("/inference/PredictSaved.java").toURI());
        Path errors = folder.resolve("errors.txt");
        Process process =
                new ProcessBuilder(
                                TestJvm.JAVA,
                                TestJvm.NO_PERFORMANCE_DATA,
                                "--enable-native-access=ALL-UNNAMED",
                                "-Dai.djl.offline=true",
                                "-cp",
                                classPath,
                                program.toString(),
                                network.toString())
                        .redirectError(errors.toFile())
                        .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(Files.readString(errors)).isZero();
        return output.lines().toList();
    }

    /// Two ranks read rows 0 to 101 and 102 to 202. One rank reads the same steps, with batches twice
    /// as large, if the rows of each step follow each other.
    @Test
    void twoRanksEqualOneRankWithTheSameSteps() {
        List<Row> rows = points().orderBy("id").collectAsList();
        List<Row> interleaved = new ArrayList<>();
        for (int step = 0; step * BATCH < 102; step++) {
            for (int first : new int[] {0, 102}) {
                int end = Math.min(first + (step + 1) * BATCH, first == 0 ? 102 : ROWS);
                interleaved.addAll(rows.subList(first + step * BATCH, end));
            }
        }
        DjlEstimator estimator =
                estimator().setFeaturesCol("numbers").setWeightCol("weight").setShuffle(false);

        DjlModel two = estimator.fitParquet(spark, parquet("two", rows));
        DjlModel one =
                estimator
                        .setNumProc(1)
                        .setBatchSize(2 * BATCH)
                        .fitParquet(spark, parquet("one", interleaved));

        assertThat(difference(two, one)).isLessThan(1e-4);
        for (String metric : List.of("loss", "Accuracy")) {
            for (int epoch = 0; epoch < 3; epoch++) {
                assertThat(two.history().metric(metric).get(epoch))
                        .isCloseTo(one.history().metric(metric).get(epoch), within(1e-4));
            }
        }
        // the weights matter
        var _ = estimator.clear(estimator.weightCol());
        assertThat(difference(two, estimator.fitParquet(spark, parquet("plain", interleaved))))
                .isGreaterThan(1e-3);
    }

    /// The largest difference between outputs.
    private static double difference(DjlModel first, DjlModel second) {
        List<Row> one = first.transform(points()).orderBy("id").collectAsList();
        List<Row> two = second.transform(points()).orderBy("id").collectAsList();
        double largest = 0;
        for (int i = 0; i < one.size(); i++) {
            Vector a = one.get(i).getAs("rawPrediction");
            Vector b = two.get(i).getAs("rawPrediction");
            for (int j = 0; j < a.size(); j++) {
                largest = Math.max(largest, Math.abs(a.apply(j) - b.apply(j)));
            }
        }
        return largest;
    }

    private static String parquet(String name, List<Row> rows) {
        String path = folder.resolve(name).toUri().toString();
        spark.createDataFrame(rows, points().schema()).coalesce(1).write().parquet(path);
        return path;
    }

    /// A row with weight 3 counts like three rows.
    @Test
    void weightsEqualRepeatedRows() {
        List<Row> rows = points().orderBy("id").limit(20).collectAsList();
        List<Row> repeated = new ArrayList<>();
        for (Row row : rows) {
            for (int i = 0; i < row.<Float>getAs("weight"); i++) {
                repeated.add(row);
            }
        }
        DjlEstimator estimator =
                estimator().setFeaturesCol("numbers").setNumProc(1).setBatchSize(100);

        DjlModel expected = estimator.fitParquet(spark, parquet("repeated", repeated));
        DjlModel weighted =
                estimator.setWeightCol("weight").fitParquet(spark, parquet("weighted", rows));

        assertThat(difference(weighted, expected)).isLessThan(1e-4);
    }

    @Test
    void failedFitResumesAndEqualsAFitWithoutFailure() {
        String path = parquet("resume", points().collectAsList());
        DjlEstimator estimator = estimator().setFeaturesCol("numbers").setRunId("resume");
        assertThatThrownBy(
                        () ->
                                estimator
                                        .setCallback(
                                                (comm, epoch, _) -> {
                                                    if (epoch == 2 && comm.rank() == 1) {
                                                        throw new IllegalStateException(
                                                                "on purpose");
                                                    }
                                                })
                                        .fitParquet(spark, path))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("on purpose");
        var _ = estimator.clear(estimator.callback());

        DjlModel resumed = estimator.fitParquet(spark, path);
        var _ = estimator.clear(estimator.runId());
        DjlModel expected = estimator.fitParquet(spark, path);

        assertThat(resumed.history()).isEqualTo(expected.history());
        assertThat(difference(resumed, expected)).isLessThan(1e-6);
    }

    @Test
    void wrongParametersAreRejected() {
        assertThatThrownBy(() -> new DjlEstimator().setFeaturesCol("numbers").fit(points()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("call setBlock, setLoss and setOptimizer");
        assertThatThrownBy(
                        () -> estimator().setFeaturesCol("numbers").setLabelCol("id").fit(points()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("is not one of the 3 classes of the network");
        assertThatThrownBy(
                        () ->
                                estimator()
                                        .setFeaturesCol("numbers")
                                        .setInputShape(2, 3)
                                        .fit(points()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining(
                        "the input shape [2, 3] has 6 elements, and a row has 4 features");
    }
}
