package org.horovod4j.examples;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.training.MetricTotals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;

/// Learns vectors of words from a text: skip-gram with negative samples (Mikolov and others, arXiv
/// 1310.4546), in plain Java.
///
/// A batch uses few words, so the gradients of both tables of vectors are zero in most rows. Processes
/// exchange the other rows only, by `sparseAllreduce`. In the end, words in similar places have similar
/// vectors.
///
/// ```
/// examples/run.sh SkipGram [--text FILE] [--epochs N] [--dimensions N]
/// ```
public final class SkipGram {
    private static final int BATCH = 32;
    private static final float LEARNING_RATE = 0.3f;
    private static final long SEED = 2013;

    private final Communicator comm;
    private final Vocabulary vocabulary;
    private final Table words;
    private final Table contexts;
    private final Random random;

    SkipGram(Communicator comm, Vocabulary vocabulary, int dimensions) {
        this.comm = comm;
        this.vocabulary = vocabulary;
        // All ranks draw the same vectors, so no broadcast is needed.
        this.words = new Table("words", vocabulary.size(), dimensions, new Random(SEED));
        this.contexts = new Table("contexts", vocabulary.size(), dimensions, new Random(SEED + 1));
        this.random = new Random(SEED + 2 + comm.rank()); // each rank draws its own negatives
    }

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);
        Hvd.init();
        try {
            Vocabulary vocabulary = Vocabulary.of(Files.readString(options.text()));
            SkipGram skipGram = new SkipGram(Hvd.communicator(), vocabulary, options.dimensions());
            for (int epoch = 0; epoch < options.epochs(); epoch++) {
                double loss = skipGram.train(epoch);
                if (Hvd.rank() == 0) {
                    System.out.printf(Locale.ROOT, "epoch %d: loss %.4f%n", epoch + 1, loss);
                }
            }
            if (Hvd.rank() == 0) {
                skipGram.report();
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private void report() {
        System.out.printf(
                "%d words; rank 0 had %d of %d rows in the last step%n",
                vocabulary.size(), words.rowsOfLastStep, vocabulary.size());
        for (int word = 0; word < Math.min(5, vocabulary.size()); word++) {
            System.out.printf("%s: %s%n", vocabulary.words().get(word), nearest(word, 4));
        }
    }

    /// Reads the text once, this rank a part of it. Returns the mean loss of all ranks.
    double train(int epoch) {
        Shard shard =
                Sampling.shuffled(SEED)
                        .withLastBatch(LastBatch.DROP)
                        .shard(vocabulary.length(), BATCH, comm);
        MetricTotals totals = new MetricTotals();
        for (int[] places : shard.batches(epoch)) {
            step(places, totals);
        }
        totals.sumOverRanks(comm);
        return totals.get("loss") / totals.get("pairs");
    }

    /// Both tables exchange the rows of this step at the same time.
    private void step(int[] places, MetricTotals totals) {
        WordPairs pairs = WordPairs.around(vocabulary, places, random);
        for (int i = 0; i < pairs.count(); i++) {
            totals.add("loss", example(pairs.word(i), pairs.context(i), pairs.label(i)));
        }
        totals.add("pairs", pairs.neighbours());
        // The mean over the places of all ranks, times their number: the rate grows with the ranks.
        float rate = LEARNING_RATE * comm.size() / places.length;
        List<Handle<SparseResult>> sums = List.of(words.reduce(comm), contexts.reduce(comm));
        words.update(sums.getFirst().join(), rate);
        contexts.update(sums.getLast().join(), rate);
    }

    /// Adds the gradients of a pair of words.
    ///
    /// @param label 1 if they are neighbours in the text, else 0
    private double example(int word, int context, int label) {
        float[] a = words.row(word);
        float[] b = contexts.row(context);
        double score = 1 / (1 + Math.exp(-dot(a, b)));
        words.addGradient(word, b, (float) (score - label));
        contexts.addGradient(context, a, (float) (score - label));
        return -Math.log(Math.max(1e-9, label == 1 ? score : 1 - score));
    }

    /// The words with the most similar vectors.
    List<String> nearest(int word, int count) {
        return vocabulary.nearest(words.values, word, count);
    }

    /// The vectors of all words, one after the other.
    float[] vectors() {
        return words.values.clone();
    }

    private static double dot(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    /// One vector for each word, and the gradients of this step for the words that it uses.
    private static final class Table {
        private final String name;
        private final Shape shape;
        private final int dimensions;
        private final float[] values;
        private final Map<Integer, float[]> gradients = new LinkedHashMap<>();
        private int rowsOfLastStep;

        Table(String name, int rows, int dimensions, Random random) {
            this.name = name;
            this.shape = Shape.of(rows, dimensions);
            this.dimensions = dimensions;
            this.values = new float[rows * dimensions];
            for (int i = 0; i < values.length; i++) {
                values[i] = (random.nextFloat() - 0.5f) / dimensions;
            }
        }

        float[] row(int index) {
            return Arrays.copyOfRange(values, index * dimensions, (index + 1) * dimensions);
        }

        void addGradient(int index, float[] direction, float factor) {
            float[] sum = gradients.computeIfAbsent(index, _ -> new float[dimensions]);
            for (int i = 0; i < dimensions; i++) {
                sum[i] += factor * direction[i];
            }
        }

        /// Sums the rows of all ranks. Ranks have different rows.
        Handle<SparseResult> reduce(Communicator comm) {
            int[] indices = gradients.keySet().stream().mapToInt(Integer::intValue).toArray();
            float[] rows = new float[indices.length * dimensions];
            int place = 0;
            for (float[] row : gradients.values()) {
                System.arraycopy(row, 0, rows, place, dimensions);
                place += dimensions;
            }
            gradients.clear();
            rowsOfLastStep = indices.length;
            return comm.sparseAllreduceAsync(
                    name,
                    new SparseTensor(
                            Tensor.of(indices), Tensor.of(rows, indices.length, dimensions), shape),
                    ReduceOp.AVERAGE);
        }

        void update(SparseResult result, float rate) {
            switch (result) {
                case SparseResult.Rows(SparseTensor sum) -> {
                    int[] indices = sum.indices().toIntArray();
                    float[] rows = sum.values().toFloatArray();
                    for (int i = 0; i < indices.length; i++) {
                        subtract(indices[i] * dimensions, rows, i * dimensions, dimensions, rate);
                    }
                }
                // The rows of all ranks were more than the table has.
                case SparseResult.Dense(Tensor whole) ->
                        subtract(0, whole.toFloatArray(), 0, values.length, rate);
            }
        }

        private void subtract(int at, float[] gradient, int from, int length, float rate) {
            for (int i = 0; i < length; i++) {
                values[at + i] -= rate * gradient[from + i];
            }
        }
    }

    private record Options(Path text, int epochs, int dimensions) {
        private static Options parse(String[] given) {
            ExampleArguments arguments = new ExampleArguments(given);
            Options options =
                    new Options(
                            arguments.file("--text", Path.of("LICENSE")),
                            arguments.number("--epochs", 40, 1),
                            arguments.number("--dimensions", 32, 1));
            arguments.exitIfInvalid(SkipGram.class);
            return options;
        }
    }
}
