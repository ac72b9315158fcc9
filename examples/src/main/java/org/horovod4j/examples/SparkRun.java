package org.horovod4j.examples;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.spark.HvdSpark;

import java.io.IOException;
import java.io.Serializable;
import java.util.Iterator;
import java.util.List;

/// Fits a line to the rows of a DataFrame, on ranks inside the executors of Spark, in plain Java.
///
/// `examples/spark.sh SparkRun` starts a Spark application with two executors for it.
public final class SparkRun {
    private static final int RANKS = 2;

    private SparkRun() {}

    /// A row, and the fitted line.
    ///
    /// @param x in 0 to 1
    public record Point(float x, float y) implements Serializable {}

    public static void main(String[] arguments) throws IOException {
        int steps = arguments.length == 0 ? 200 : Integer.parseInt(arguments[0]);
        try (SparkSession spark = SparkSession.builder().appName("SparkRun").getOrCreate()) {
            // y = 3 x + 1, for a million rows
            var rows =
                    spark.range(0, 1_000_000, 1, RANKS)
                            .selectExpr("id % 1000 / 1000 as x", "id % 1000 / 1000 * 3 + 1 as y")
                            .toJavaRDD()
                            .map(
                                    row ->
                                            new Point(
                                                    (float) row.getDouble(0),
                                                    (float) row.getDouble(1)));
            List<float[]> lines =
                    HvdSpark.ranks(spark, RANKS).run(rows, (comm, own) -> fit(comm, own, steps));
            float[] line = lines.getFirst();
            System.out.printf("y = %.2f x + %.2f, by %d ranks%n", line[0], line[1], lines.size());
        }
    }

    /// Gradient descent on the squared error. Each rank has its own points; the gradients are summed.
    static float[] fit(Communicator comm, Iterator<Point> points, int steps) {
        // The sums over the points are all that the gradient needs.
        double[] sums = new double[5];
        while (points.hasNext()) {
            Point point = points.next();
            sums[0] += point.x;
            sums[1] += point.y;
            sums[2] += point.x * point.x;
            sums[3] += point.x * point.y;
            sums[4]++;
        }
        System.out.printf("rank %d of %d has %.0f rows%n", comm.rank(), comm.size(), sums[4]);
        double slope = 0;
        double height = 0;
        for (int step = 0; step < steps; step++) {
            double[] gradient = {
                slope * sums[2] + height * sums[0] - sums[3],
                slope * sums[0] + height * sums[4] - sums[1],
                sums[4]
            };
            comm.allreduce("gradient", gradient, ReduceOp.SUM);
            slope -= 1.2 * gradient[0] / gradient[2];
            height -= 1.2 * gradient[1] / gradient[2];
            HvdSpark.countSamples((long) sums[4]);
        }
        return new float[] {(float) slope, (float) height};
    }
}
