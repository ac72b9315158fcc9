package org.horovod4j.examples;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.pooling.Pool;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.apache.spark.ml.evaluation.MulticlassClassificationEvaluator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.horovod4j.spark.djl.DjlEstimator;
import org.horovod4j.spark.djl.DjlModel;
import org.horovod4j.spark.ml.TrainingSetup;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/// Trains a network on handwritten digits that are rows of a `DataFrame`, on two ranks in executors of
/// Spark.
///
/// ```
/// examples/spark.sh SparkMnist [--epochs N] [--ranks N] [--rows N] [--data FOLDER] [--model FOLDER]
/// ```
public final class SparkMnist {
    private static final int BATCH = 64;
    private static final float LEARNING_RATE = 0.001f;
    private static final int PARTITIONS = 4;

    private SparkMnist() {}

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);
        try (SparkSession spark = SparkSession.builder().appName("SparkMnist").getOrCreate()) {
            Dataset<Row> training = images(spark, options.data(), "train", options.rows());
            Dataset<Row> test = images(spark, options.data(), "t10k", options.rows());

            DjlModel model =
                    new DjlEstimator()
                            .setBlock(SparkMnist::network)
                            .setInputShape(1, 28, 28)
                            .setLoss(Loss::softmaxCrossEntropyLoss)
                            .setOptimizer(SparkMnist::optimizer)
                            .setEvaluators(() -> List.of(new Accuracy()))
                            .setFeaturesCol("pixels")
                            .setLabelCol("digit")
                            .setNumProc(options.ranks())
                            .setBatchSize(BATCH)
                            .setEpochs(options.epochs())
                            .fit(training);

            double accuracy =
                    new MulticlassClassificationEvaluator()
                            .setLabelCol("digit")
                            .setMetricName("accuracy")
                            .evaluate(model.setBatchSize(500).transform(test));
            model.write().overwrite().save(options.model().toAbsolutePath().toUri().toString());
            System.out.printf(
                    Locale.ROOT,
                    "test accuracy %.2f %% with %d rank(s); the model is in %s%n",
                    100 * accuracy,
                    options.ranks(),
                    options.model());
        }
    }

    /// An image is an array of 784 numbers from 0 to 1.
    private static Dataset<Row> images(SparkSession spark, Path folder, String set, int limit)
            throws IOException {
        MnistData data = MnistData.read(folder, set);
        int count = limit == 0 ? data.count() : Math.min(limit, data.count());
        List<Row> rows = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            float[] pixels = new float[MnistData.PIXELS];
            data.copyTo(pixels, 0, i);
            rows.add(RowFactory.create(pixels, data.label(i)));
        }
        StructType columns =
                new StructType()
                        .add("pixels", DataTypes.createArrayType(DataTypes.FloatType, false), false)
                        .add("digit", DataTypes.IntegerType, false);
        return spark.createDataFrame(rows, columns).repartition(PARTITIONS);
    }

    /// n ranks average over n times as many images, so the learning rate is n times as large.
    private static Optimizer optimizer(TrainingSetup setup) {
        Tracker rate =
                Tracker.cosine()
                        .setBaseValue(LEARNING_RATE * setup.communicator().size())
                        .optFinalValue(0)
                        .setMaxUpdates(setup.epochs() * setup.stepsPerEpoch())
                        .build();
        return Optimizer.adam().optLearningRateTracker(rate).build();
    }

    /// Two convolutional layers with kernels of 5 by 5 pixels, and two fully connected layers.
    private static Block network() {
        Shape two = new Shape(2, 2);
        return new SequentialBlock()
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(16).build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(32).build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Blocks.batchFlattenBlock())
                .add(Linear.builder().setUnits(128).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(10).build());
    }

    private record Options(int epochs, int ranks, int rows, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 3, 1),
                            given.number("--ranks", 2, 1),
                            given.number("--rows", 0, 0),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "spark-mnist")));
            given.exitIfInvalid(SparkMnist.class);
            return options;
        }
    }
}
