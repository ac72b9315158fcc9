package org.horovod4j.examples;

import ai.djl.nn.Activation;
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
import org.apache.spark.ml.feature.OneHotEncoder;
import org.apache.spark.ml.feature.StandardScaler;
import org.apache.spark.ml.feature.StringIndexer;
import org.apache.spark.ml.feature.VectorAssembler;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.spark.djl.DjlEstimator;
import org.horovod4j.spark.djl.DjlModel;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/// Rows of numbers and words in a `Pipeline` of Spark ML, whose last stage trains a network.
///
/// The rows are made up: trips of a taxi. A trip is late if it takes longer than it should at this
/// hour, in this weather. One trip in twenty has a random answer, so no model is right in all.
///
/// ```
/// examples/spark.sh SparkPipeline [--rows N] [--epochs N] [--ranks N] [--model FOLDER]
/// ```
public final class SparkPipeline {
    private SparkPipeline() {}

    public static void main(String[] arguments) throws IOException {
        ExampleArguments given = new ExampleArguments(arguments);
        int rows = given.number("--rows", 40_000, 100);
        int epochs = given.number("--epochs", 20, 1);
        int ranks = given.number("--ranks", 2, 1);
        Path folder = given.path("--model", Path.of("target", "spark-pipeline"));
        given.exitIfInvalid(SparkPipeline.class);

        try (SparkSession spark = SparkSession.builder().appName("SparkPipeline").getOrCreate()) {
            Dataset<Row> trips = trips(spark, rows).cache();
            Dataset<Row>[] parts = trips.randomSplit(new double[] {0.8, 0.2}, 42);

            PipelineModel model = pipeline(epochs, ranks).fit(parts[0]);
            String saved = folder.toAbsolutePath().toUri().toString();
            model.write().overwrite().save(saved);

            Dataset<Row> predicted = PipelineModel.load(saved).transform(parts[1]);
            predicted.select("km", "hour", "weather", "minutes", "label", "prediction").show(5);
            DjlModel network = (DjlModel) model.stages()[model.stages().length - 1];
            System.out.printf(
                    Locale.ROOT,
                    "accuracy %.1f %% on %d trips, after %d epochs; the model is in %s%n",
                    100
                            * new MulticlassClassificationEvaluator()
                                    .setMetricName("accuracy")
                                    .evaluate(predicted),
                    parts[1].count(),
                    network.history().epochs().size(),
                    folder);
        }
    }

    private static Pipeline pipeline(int epochs, int ranks) {
        StringIndexer words = new StringIndexer().setInputCol("weather").setOutputCol("index");
        OneHotEncoder bits = new OneHotEncoder().setInputCol("index").setOutputCol("bits");
        VectorAssembler assembler =
                new VectorAssembler()
                        .setInputCols(new String[] {"km", "hour", "minutes", "bits"})
                        .setOutputCol("assembled");
        StandardScaler scaler =
                new StandardScaler()
                        .setInputCol("assembled")
                        .setOutputCol("features")
                        .setWithMean(true);
        DjlEstimator network =
                new DjlEstimator()
                        .setBlock(
                                () ->
                                        new SequentialBlock()
                                                .add(Linear.builder().setUnits(32).build())
                                                .add(Activation::relu)
                                                .add(Linear.builder().setUnits(16).build())
                                                .add(Activation::relu)
                                                .add(Linear.builder().setUnits(2).build()))
                        .setLoss(Loss::softmaxCrossEntropyLoss)
                        .setOptimizer(
                                _ ->
                                        Optimizer.adam()
                                                .optLearningRateTracker(Tracker.fixed(0.005f))
                                                .build())
                        .setEvaluators(() -> List.of(new Accuracy()))
                        .setNumProc(ranks)
                        .setBatchSize(128)
                        .setEpochs(epochs)
                        .setValidationFraction(0.1)
                        .setMonitor("val_Accuracy")
                        .setPatience(5);
        return new Pipeline()
                .setStages(new PipelineStage[] {words, bits, assembler, scaler, network});
    }

    private static Dataset<Row> trips(SparkSession spark, int rows) {
        return spark.range(0, rows, 1, 4)
                .selectExpr(
                        "1 + 19 * rand(1) as km",
                        "cast(24 * rand(2) as int) as hour",
                        "element_at(array('sun', 'rain', 'snow'), cast(1 + 3 * rand(3) as int)) as weather",
                        "rand(4) as luck",
                        "rand(5) as noise")
                .selectExpr(
                        "*",
                        // slower in the rush hours, and in snow
                        "km * (if(hour between 7 and 9 or hour between 16 and 18, 3.0D, 1.5D)"
                                + " + if(weather = 'snow', 1.5D, 0D)) as usual")
                .selectExpr("*", "usual * (0.5 + luck) as minutes")
                .selectExpr(
                        "km",
                        "hour",
                        "weather",
                        "minutes",
                        "cast(if(noise < 0.05, luck * 100 % 1 < 0.5, minutes > usual) as int) as label");
    }
}
