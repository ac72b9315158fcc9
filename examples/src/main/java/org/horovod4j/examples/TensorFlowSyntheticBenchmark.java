package org.horovod4j.examples;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.framework.optimizers.Momentum;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;

import java.util.List;
import java.util.Random;

/// [SyntheticBenchmark] with TensorFlow Java: the images per second of a known network, with one or
/// several processes. The images are random noise.
///
/// ```
/// examples/run.sh TensorFlowSyntheticBenchmark --model vgg16 --batch-size 8 --num-iters 3
/// ```
public final class TensorFlowSyntheticBenchmark {
    private static final float MOMENTUM = 0.9f;

    private TensorFlowSyntheticBenchmark() {}

    public static void main(String[] arguments) {
        Options options = Options.parse(arguments);
        ThroughputBenchmark benchmark = options.benchmark();

        Hvd.init();
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            Placeholder<TFloat32> images =
                    tf.placeholder(TFloat32.class, Placeholder.shape(options.images()));
            Placeholder<TFloat32> labels =
                    tf.placeholder(TFloat32.class, Placeholder.shape(options.labels()));
            Operand<TFloat32> scores =
                    options.model().build(tf, images, ThroughputBenchmark.CLASSES);
            Operand<TFloat32> loss =
                    tf.math.mean(
                            tf.nn.softmaxCrossEntropyWithLogits(scores, labels).loss(),
                            tf.constant(0));
            Op step = optimizer(graph, benchmark).minimize(loss);
            Op broadcast = HvdTensorFlow.broadcastGlobalVariables(graph, 0);
            try (Session session = new Session(graph, config(benchmark));
                    TFloat32 noise = noise(options.images());
                    TFloat32 classes = noise(options.labels())) {
                session.initialize();
                session.run(broadcast);
                benchmark.run(
                        options.model(),
                        () ->
                                run(
                                        session.runner()
                                                .feed(images, noise)
                                                .feed(labels, classes)
                                                .addTarget(step)));
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private static void run(Session.Runner runner) {
        Result result = runner.run();
        result.close();
    }

    private static ConfigProto config(ThroughputBenchmark benchmark) {
        ConfigProto config = HvdTensorFlow.config();
        return benchmark.noCuda() ? config.toBuilder().putDeviceCount("GPU", 0).build() : config;
    }

    private static Optimizer optimizer(Graph graph, ThroughputBenchmark benchmark) {
        return HvdTensorFlow.distributed(
                new Momentum(graph, benchmark.learningRate(), MOMENTUM),
                settings -> {
                    if (benchmark.fp16()) {
                        settings.compression(Compression.FP16);
                    }
                    if (benchmark.adasum()) {
                        settings.op(ReduceOp.ADASUM);
                    }
                });
    }

    /// Random numbers from 0 to 1, other ones in each process.
    private static TFloat32 noise(Shape shape) {
        Random random = new Random(Hvd.rank());
        float[] values = new float[Math.toIntExact(shape.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextFloat();
        }
        return TFloat32.tensorOf(shape, DataBuffers.of(values, true, false));
    }

    private record Options(TensorFlowModel model, ThroughputBenchmark benchmark) {
        private Shape images() {
            return Shape.of(
                    benchmark.batchSize(), TensorFlowModel.PIXELS, TensorFlowModel.PIXELS, 3);
        }

        /// A probability for each class.
        private Shape labels() {
            return Shape.of(benchmark.batchSize(), ThroughputBenchmark.CLASSES);
        }

        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.oneOf(
                                    "--model",
                                    TensorFlowModel.RESNET50,
                                    List.of(TensorFlowModel.values()),
                                    TensorFlowModel::option),
                            ThroughputBenchmark.parse(given));
            given.exitIfInvalid(TensorFlowSyntheticBenchmark.class);
            return options;
        }
    }
}
