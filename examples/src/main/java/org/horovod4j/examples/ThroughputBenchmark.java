package org.horovod4j.examples;

import org.horovod4j.Hvd;

import java.util.Locale;
import java.util.stream.DoubleStream;

/// The options and the statistics of Horovod's synthetic benchmark, for any framework.
///
/// @param batchSize images of one step on each process
/// @param fp16 whether gradients travel with 16 bits
/// @param noCuda whether to use the processor even if there is a GPU
/// @param adasum whether gradients are combined by Adasum
record ThroughputBenchmark(
        int batchSize,
        int warmupBatches,
        int batchesPerIteration,
        int iterations,
        boolean fp16,
        boolean noCuda,
        boolean adasum) {
    /// The number of classes of ImageNet.
    static final int CLASSES = 1000;

    private static final float LEARNING_RATE = 0.01f;

    static ThroughputBenchmark parse(ExampleArguments given) {
        return new ThroughputBenchmark(
                given.number("--batch-size", 32, 1),
                given.number("--num-warmup-batches", 10, 0),
                given.number("--num-batches-per-iter", 10, 1),
                given.number("--num-iters", 10, 1),
                given.flag("--fp16-allreduce"),
                given.flag("--no-cuda"),
                given.flag("--use-adasum"));
    }

    /// Adasum derives the length of the step from the gradients.
    float learningRate() {
        return adasum ? LEARNING_RATE : LEARNING_RATE * Hvd.size();
    }

    /// Makes steps and prints images per second.
    void run(Object network, Runnable step) {
        print("%s, %d image(s) a batch, %d process(es)".formatted(network, batchSize, Hvd.size()));
        print("warming up: %d batch(es)".formatted(warmupBatches));
        for (int batch = 0; batch < warmupBatches; batch++) {
            step.run();
        }

        double[] rates = new double[iterations];
        for (int iteration = 0; iteration < rates.length; iteration++) {
            long start = System.nanoTime();
            for (int batch = 0; batch < batchesPerIteration; batch++) {
                step.run();
            }
            double seconds = (System.nanoTime() - start) * 1e-9;
            rates[iteration] = batchSize * batchesPerIteration / seconds;
            print(
                    "iteration %d: %s images/s on each process"
                            .formatted(iteration + 1, rounded(rates[iteration])));
        }

        // Steps end at the same time on all ranks, so rank 0 measures for all.
        double mean = DoubleStream.of(rates).average().orElseThrow();
        double spread =
                1.96
                        * deviation(
                                rates,
                                mean); // 95 % of iterations, if they are normally distributed
        print("images/s on each process: %s ± %s".formatted(rounded(mean), rounded(spread)));
        print(
                "images/s on all %d process(es): %s ± %s"
                        .formatted(
                                Hvd.size(),
                                rounded(Hvd.size() * mean),
                                rounded(Hvd.size() * spread)));
    }

    private static double deviation(double[] rates, double mean) {
        return Math.sqrt(
                DoubleStream.of(rates)
                        .map(rate -> (rate - mean) * (rate - mean))
                        .average()
                        .orElse(0));
    }

    private static String rounded(double number) {
        return String.format(Locale.ROOT, "%.2f", number);
    }

    private static void print(String line) {
        if (Hvd.rank() == 0) {
            System.out.println(line);
        }
    }
}
