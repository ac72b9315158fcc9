package org.horovod4j.examples;

import org.apache.spark.sql.SparkSession;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.data.Sampling;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ElasticSampler;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.spark.HvdSpark;

import java.io.IOException;
import java.util.List;

/// An elastic training on Spark, in which one executor dies: the other continues from its last
/// commit, and the executor that Spark starts instead joins it.
///
/// `examples/spark.sh SparkElastic` starts a Spark application with two executors for it.
public final class SparkElastic {
    private static final int SAMPLES = 60_000;
    private static final int BATCH = 20;
    private static final int FATAL_STEP = 100;

    private SparkElastic() {}

    public static void main(String[] arguments) throws IOException {
        try (SparkSession spark = SparkSession.builder().appName("SparkElastic").getOrCreate()) {
            List<String> results =
                    HvdSpark.ranks(spark, 2).minRanks(1).runElastic(SparkElastic::train);
            results.forEach(System.out::println);
        }
    }

    private static String train() throws InterruptedException {
        float[] line = {0, 0};
        long[] trained = {0};
        ElasticSampler sampler = new ElasticSampler(SAMPLES, Sampling.shuffled(42));
        ObjectState state =
                new ObjectState()
                        .with("line", line)
                        .with("trained", trained)
                        .with("sampler", sampler)
                        .with("step", 0);
        Elastic.run(
                state,
                s -> {
                    int generation = Hvd.membership().generation();
                    System.out.printf(
                            "generation %d: rank %d of %d continues at step %d%n",
                            generation, Hvd.rank(), Hvd.size(), s.getInt("step"));
                    while (sampler.hasNext(BATCH)) {
                        step(line, trained, sampler.nextBatch(BATCH));
                        s.set("step", s.getInt("step") + 1);
                        s.commit();
                        if (generation == 0 && Hvd.rank() == 1 && s.getInt("step") == FATAL_STEP) {
                            System.out.println("this executor dies now");
                            Thread.sleep(200); // the line is on its way
                            Runtime.getRuntime().halt(137);
                        }
                        Thread.sleep(10); // as a real step would take
                    }
                });
        return "rank %d: y = %.2f x + %.2f, on %d samples of %d, in generation %d"
                .formatted(
                        Hvd.rank(),
                        line[0],
                        line[1],
                        trained[0],
                        SAMPLES,
                        Hvd.membership().generation());
    }

    /// A step of gradient descent towards y = 3 x + 1.
    private static void step(float[] line, long[] trained, int[] samples) {
        float[] gradient = new float[3];
        for (int sample : samples) {
            float x = sample % 100 / 100f;
            float error = line[0] * x + line[1] - (3 * x + 1);
            gradient[0] += error * x;
            gradient[1] += error;
            gradient[2]++;
        }
        Hvd.allreduce("gradient", gradient, ReduceOp.SUM);
        line[0] -= 0.5f * gradient[0] / gradient[2];
        line[1] -= 0.5f * gradient[1] / gradient[2];
        trained[0] += (long) gradient[2];
        HvdSpark.countSamples(samples.length);
    }
}
