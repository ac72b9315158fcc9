package org.horovod4j.benchmarks.spark.training;

import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.loss.Loss;

import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.horovod4j.Communicator;
import org.horovod4j.spark.djl.DjlEstimator;
import org.horovod4j.spark.djl.DjlModel;
import org.horovod4j.spark.ml.EpochCallback;

import java.util.List;
import java.util.Map;

/// Trains by an estimator in executors: rows, epochs, ranks, folder of the store.
public final class EstimatorBenchmark {
    private EstimatorBenchmark() {}

    public static void main(String[] arguments) {
        int rows = Integer.parseInt(arguments[0]);
        SparkSession spark = SparkSession.builder().appName("EstimatorBenchmark").getOrCreate();
        StructType columns =
                new StructType()
                        .add(
                                "features",
                                DataTypes.createArrayType(DataTypes.FloatType, false),
                                false)
                        .add("label", DataTypes.IntegerType, false);
        MapFunction<Long, Row> image =
                number ->
                        RowFactory.create(DigitTraining.image(number), DigitTraining.label(number));
        Dataset<Row> images = spark.range(rows).map(image, Encoders.row(columns));
        DjlModel _ =
                new DjlEstimator()
                        .setBlock(DigitTraining::network)
                        .setInputShape(1, 28, 28)
                        .setLoss(Loss::softmaxCrossEntropyLoss)
                        .setOptimizer(_ -> DigitTraining.optimizer())
                        .setEvaluators(() -> List.of(new Accuracy()))
                        .setEpochs(Integer.parseInt(arguments[1]))
                        .setNumProc(Integer.parseInt(arguments[2]))
                        .setBatchSize(DigitTraining.BATCH)
                        .setStore(arguments[3])
                        .setVerbose(false)
                        .setCallback(new Timer(rows))
                        .fit(images);
        spark.stop();
    }

    /// Prints the rate of each epoch but the first, in which the JVM compiles.
    private static final class Timer implements EpochCallback {
        private static final long serialVersionUID = 1L;

        private final int rows;
        private long last;

        Timer(int rows) {
            this.rows = rows;
        }

        @Override
        public void epochDone(Communicator communicator, int epoch, Map<String, Double> metrics) {
            long now = System.nanoTime();
            if (epoch > 1 && communicator.rank() == 0) {
                DigitTraining.print(rows, now - last);
            }
            last = now;
        }
    }
}
