package org.horovod4j.benchmarks.training.tensorflow;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.training.NetworkTraining;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.tensorflow.DistributedOptimizer;
import org.horovod4j.tensorflow.HvdOps;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.framework.optimizers.Momentum;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.framework.optimizers.Optimizer.GradAndVar;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.family.TType;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.zip.CRC32C;

/// Two convolutions and two dense layers for ten classes, with 1.2 million parameters: the MNIST
/// network of the benchmarks with DJL.
///
/// In mode [TrainingMode#OVERLAP] gradients are nodes of the graph. In mode [TrainingMode#SEQUENTIAL]
/// the program fetches gradients, averages them, and feeds them to another run that applies them.
final class TensorFlowTraining implements NetworkTraining {
    /// TensorFlow decides when an op runs, so there is no default to choose.
    static final Set<TrainingMode> MODES =
            EnumSet.of(
                    TrainingMode.INDEPENDENT,
                    TrainingMode.BARRIER,
                    TrainingMode.OVERLAP,
                    TrainingMode.SEQUENTIAL);

    private static final int CLASSES = 10;
    private static final int WARM_UP_IMAGES = 2;
    private static final float LEARNING_RATE = 0.01f;
    private static final float MOMENTUM = 0.9f;
    private static final long SEED = 1;

    private final Communicator comm;
    private final TrainingMode mode;
    private final int side;
    private final Graph graph = new Graph();
    private final Ops tf = Ops.create(graph);
    private final Placeholder<TFloat32> images;
    private final Placeholder<TFloat32> labels =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, CLASSES)));
    private final List<Variable<TFloat32>> variables = new ArrayList<>();

    /// Applies gradients: its own ones, or those that are fed.
    private final Op step;

    /// Fetched and fed in mode SEQUENTIAL.
    private final List<Output<?>> fetched = new ArrayList<>();

    private final List<Placeholder<TFloat32>> averages = new ArrayList<>();
    private final Session session;
    private final Batch batch;
    private final Batch warmUpBatch;

    /// The input of a step.
    private record Batch(TFloat32 images, TFloat32 labels) {}

    /// @param side the width and height of the images, in pixels
    TensorFlowTraining(Communicator comm, TrainingMode mode, int batch, int side) {
        this.comm = comm;
        this.mode = mode;
        this.side = side;
        images = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, side, side, 1)));
        Operand<TFloat32> loss = loss();
        Optimizer optimizer = new Momentum(graph, LEARNING_RATE, MOMENTUM);
        step =
                switch (mode) {
                    case INDEPENDENT, BARRIER -> optimizer.minimize(loss);
                    case OVERLAP ->
                            DistributedOptimizer.wrap(optimizer)
                                    .communicator(comm)
                                    .build()
                                    .minimize(loss);
                    case SEQUENTIAL -> applyFed(optimizer, loss);
                    case ALLREDUCE, DEFAULT ->
                            throw new IllegalArgumentException("not with TensorFlow: " + mode);
                };
        // In all modes, so that all start with the same weights.
        Op broadcast = HvdOps.create(tf, comm).broadcastGlobalVariables(0);
        session = new Session(graph, HvdTensorFlow.config(comm));
        session.initialize();
        session.run(broadcast);
        this.batch = randomBatch(batch);
        this.warmUpBatch = randomBatch(Math.min(batch, WARM_UP_IMAGES));
    }

    private Operand<TFloat32> loss() {
        Operand<TFloat32> hidden = convolution("conv1", images, 1, 32);
        hidden = convolution("conv2", hidden, 32, 64);
        Operand<TInt32> two = tf.constant(new int[] {1, 2, 2, 1});
        hidden = tf.nn.maxPool(hidden, two, two, "VALID");
        int pooled = (side - 4) / 2; // each convolution takes a pixel from each border
        int features = pooled * pooled * 64;
        hidden = tf.reshape(hidden, tf.constant(new int[] {-1, features}));
        hidden = tf.nn.relu(dense("dense1", hidden, features, 128));
        return tf.math.mean(
                tf.nn.softmaxCrossEntropyWithLogits(dense("dense2", hidden, 128, CLASSES), labels)
                        .loss(),
                tf.constant(0));
    }

    private Operand<TFloat32> convolution(
            String name, Operand<TFloat32> input, int channels, int filters) {
        return tf.nn.relu(
                tf.nn.biasAdd(
                        tf.nn.conv2d(
                                input,
                                variable(name + "_kernel", 9 * channels, 3, 3, channels, filters),
                                List.of(1L, 1L, 1L, 1L),
                                "VALID"),
                        variable(name + "_bias", filters, filters)));
    }

    private Operand<TFloat32> dense(String name, Operand<TFloat32> input, int inputs, int outputs) {
        return tf.nn.biasAdd(
                tf.linalg.matMul(input, variable(name + "_weights", inputs, inputs, outputs)),
                variable(name + "_bias", outputs, outputs));
    }

    private Variable<TFloat32> variable(String name, int inputs, long... dimensions) {
        Ops init = tf.withInitScope();
        Variable<TFloat32> variable =
                init.withName(name).variable(Shape.of(dimensions), TFloat32.class);
        init.assign(
                variable,
                init.math.mul(
                        init.random.truncatedNormal(init.constant(dimensions), TFloat32.class),
                        init.constant((float) Math.sqrt(1.0 / inputs))));
        variables.add(variable);
        return variable;
    }

    private Op applyFed(Optimizer optimizer, Operand<TFloat32> loss) {
        List<GradAndVar<? extends TType>> pairs = new ArrayList<>();
        for (GradAndVar<?> pair : optimizer.computeGradients(loss)) {
            @SuppressWarnings("unchecked") // all variables are floats
            Output<TFloat32> variable = (Output<TFloat32>) pair.getVariable();
            Placeholder<TFloat32> average =
                    tf.placeholder(TFloat32.class, Placeholder.shape(variable.shape()));
            fetched.add(pair.getGradient());
            averages.add(average);
            pairs.add(new GradAndVar<>(average.asOutput(), variable));
        }
        return optimizer.applyGradients(pairs, "apply");
    }

    /// Other images on each rank, so that the gradients differ.
    private Batch randomBatch(int count) {
        Random random = new Random(SEED + comm.rank());
        float[] pixels = new float[count * side * side];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = random.nextFloat();
        }
        float[] classes = new float[count * CLASSES];
        for (int i = 0; i < count; i++) {
            classes[i * CLASSES + random.nextInt(CLASSES)] = 1;
        }
        return new Batch(
                TFloat32.tensorOf(
                        Shape.of(count, side, side, 1), DataBuffers.of(pixels, true, false)),
                TFloat32.tensorOf(Shape.of(count, CLASSES), DataBuffers.of(classes, true, false)));
    }

    @Override
    public long step() {
        return step(batch);
    }

    @Override
    public void warmUpStep() {
        long _ = step(warmUpBatch);
    }

    private long step(Batch input) {
        Session.Runner runner =
                session.runner().feed(images, input.images).feed(labels, input.labels);
        if (mode == TrainingMode.SEQUENTIAL) {
            return averageFetched(runner);
        }
        try (Result _ = runner.addTarget(step).run()) {
            return switch (mode) {
                case BARRIER -> {
                    long start = System.nanoTime();
                    comm.barrier();
                    yield System.nanoTime() - start;
                }
                case INDEPENDENT -> 0;
                default -> UNKNOWN;
            };
        }
    }

    private long averageFetched(Session.Runner backward) {
        fetched.forEach(backward::fetch);
        try (Result gradients = backward.run()) {
            long start = System.nanoTime();
            List<Handle<org.horovod4j.Tensor>> handles = new ArrayList<>();
            Session.Runner update = session.runner();
            for (int i = 0; i < averages.size(); i++) {
                TFloat32 gradient = (TFloat32) gradients.get(i);
                handles.add(
                        comm.allreduceAsync(
                                "fetched." + i, HvdTensorFlow.view(gradient), ReduceOp.AVERAGE));
                update.feed(averages.get(i), gradient);
            }
            handles.forEach(Handle::join);
            long waited = System.nanoTime() - start;
            try (Result _ = update.addTarget(step).run()) {
                return waited;
            }
        }
    }

    @Override
    public long gradientBytes() {
        return variables.stream().mapToLong(each -> each.shape().size() * Float.BYTES).sum();
    }

    @Override
    public long checksum() {
        CRC32C checksum = new CRC32C();
        Session.Runner runner = session.runner();
        variables.forEach(runner::fetch);
        try (Result values = runner.run()) {
            for (int i = 0; i < variables.size(); i++) {
                checksum.update(
                        HvdTensorFlow.view((TFloat32) values.get(i)).segment().asByteBuffer());
            }
        }
        return checksum.getValue();
    }

    /// The graph decides the mode.
    @Override
    public void checkMode() {}

    @Override
    public void close() {
        session.close();
        graph.close();
        for (Batch each : List.of(batch, warmUpBatch)) {
            each.images.close();
            each.labels.close();
        }
    }
}
