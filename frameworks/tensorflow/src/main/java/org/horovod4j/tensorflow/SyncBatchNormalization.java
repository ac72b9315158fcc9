package org.horovod4j.tensorflow;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.training.CommunicatorProvider;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TFloat64;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.family.TNumber;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/// Batch normalisation over the batches of all ranks together.
///
/// ```java
/// SyncBatchNormalization<TFloat32> norm = SyncBatchNormalization.builder(tf, "norm1").build(TFloat32.class, 64);
/// Operand<TFloat32> output = norm.training(convolution); // in the graph that trains
/// Operand<TFloat32> output = norm.inference(convolution); // elsewhere
/// ```
///
/// In training, mean and variance of each channel are those of the inputs of all ranks, and gradients
/// pass through both. Ranks may have batches of different sizes. It costs two small allreduces in
/// forward and two in backward, so it is meant for batches that are too small for statistics of one
/// rank.
///
/// Train it with a [DistributedOptimizer]. The optimizers of TensorFlow Java reject variables without
/// a gradient, such as the running mean.
///
/// @param <T> the type of inputs: float32 or float64
public final class SyncBatchNormalization<T extends TNumber> {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    private final Builder settings;
    private final Ops tf;
    private final Class<T> type;
    private final long channels;
    private final Variable<T> gamma;
    private final Variable<T> beta;
    private final Variable<T> movingMean;
    private final Variable<T> movingVariance;

    private SyncBatchNormalization(Builder settings, Class<T> type, long channels) {
        this.settings = settings;
        this.tf = settings.tf.withSubScope(settings.name);
        this.type = type;
        this.channels = channels;
        this.gamma = variable("gamma", 1);
        this.beta = variable("beta", 0);
        this.movingMean = variable("moving_mean", 0);
        this.movingVariance = variable("moving_variance", 1);
    }

    /// Starts to build a layer.
    ///
    /// @param name the scope of its variables and collectives in the graph: the same on all ranks
    public static Builder builder(Ops tf, String name) {
        return new Builder(tf, name);
    }

    private Variable<T> variable(String name, float start) {
        Ops init = tf.withInitScope();
        Variable<T> variable = tf.withName(name).variable(Shape.of(channels), type);
        init.assign(
                variable, init.fill(init.constant(new long[] {channels}), constant(init, start)));
        return variable;
    }

    private Operand<T> constant(Ops ops, double value) {
        return ops.dtypes.cast(ops.constant(value), type);
    }

    /// Normalises with the statistics of this batch on all ranks, and moves the running statistics
    /// towards them. All ranks run it.
    ///
    /// @throws IllegalArgumentException when the number of dimensions of `input` is not known
    public Operand<T> training(Operand<T> input) {
        Channels layout = layout(input);
        HvdOps hvd = HvdOps.create(tf, settings.ranks());
        Operand<T> own =
                tf.math.mul(tf.dtypes.cast(tf.size(input), type), constant(tf, 1.0 / channels));
        List<Output<T>> totals =
                hvd.withName("mean").groupedAllreduce(List.of(layout.sum(input), own), SUM);
        Operand<T> count = tf.stopGradient(totals.get(1));
        Operand<T> perCount = tf.math.reciprocal(count);
        Operand<T> mean = tf.math.mul(totals.get(0), perCount);
        Operand<T> centred = tf.math.sub(input, layout.broadcastable(mean));
        Operand<T> variance =
                tf.math.mul(
                        hvd.withName("variance")
                                .allreduce(layout.sum(tf.math.square(centred)), SUM),
                        perCount);
        Operand<T> output = scaleAndShift(layout, centred, variance);
        // the running variance is that of a sample, as in TensorFlow's fused batch normalisation
        Operand<T> unbiased =
                tf.math.mul(
                        variance,
                        tf.math.div(
                                count,
                                tf.math.maximum(
                                        tf.math.sub(count, constant(tf, 1)), constant(tf, 1))));
        List<Op> updates = List.of(update(movingMean, mean), update(movingVariance, unbiased));
        return tf.withControlDependencies(updates).identity(output);
    }

    private Op update(Variable<T> moving, Operand<T> batch) {
        Operand<T> difference = tf.math.sub(moving, batch);
        return tf.assignSub(moving, tf.math.mul(difference, constant(tf, 1 - settings.momentum)));
    }

    /// Normalises with the running statistics.
    ///
    /// @throws IllegalArgumentException when the number of dimensions of `input` is not known
    public Operand<T> inference(Operand<T> input) {
        Channels layout = layout(input);
        return scaleAndShift(
                layout, tf.math.sub(input, layout.broadcastable(movingMean)), movingVariance);
    }

    private Operand<T> scaleAndShift(Channels layout, Operand<T> centred, Operand<T> variance) {
        Operand<T> factor =
                tf.math.mul(
                        gamma,
                        tf.math.rsqrt(tf.math.add(variance, constant(tf, settings.epsilon))));
        return tf.math.add(
                tf.math.mul(centred, layout.broadcastable(factor)), layout.broadcastable(beta));
    }

    private Channels layout(Operand<T> input) {
        int dimensions = input.shape().numDimensions();
        int axis =
                settings.channelAxis < 0 ? dimensions + settings.channelAxis : settings.channelAxis;
        if (dimensions < 2 || axis < 0 || axis >= dimensions) {
            throw new IllegalArgumentException(
                    "SyncBatchNormalization '%s' takes inputs with a batch and a channel dimension, not '%s' of shape %s"
                            .formatted(settings.name, input.op().name(), input.shape()));
        }
        return new Channels(dimensions, axis);
    }

    /// The channels of an input.
    private final class Channels {
        private final int dimensions;
        private final int axis;

        Channels(int dimensions, int axis) {
            this.dimensions = dimensions;
            this.axis = axis;
        }

        /// The sum of each channel.
        Operand<T> sum(Operand<T> input) {
            Operand<TInt32> others =
                    tf.constant(
                            IntStream.range(0, dimensions).filter(each -> each != axis).toArray());
            return tf.reduceSum(input, others);
        }

        /// Values per channel, in a shape that broadcasts to that of the input.
        Operand<T> broadcastable(Operand<T> perChannel) {
            int[] shape = new int[dimensions];
            Arrays.fill(shape, 1);
            shape[axis] = Math.toIntExact(channels);
            return tf.reshape(perChannel, tf.constant(shape));
        }
    }

    /// Options of a layer.
    public static final class Builder {
        private final Ops tf;
        private final String name;
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private Optional<ProcessSet> processSet = Optional.empty();
        private double epsilon = 1e-5;
        private double momentum = 0.9;
        private int channelAxis = -1;

        private Builder(Ops tf, String name) {
            this.tf = tf;
            this.name = name;
        }

        private RankGroup ranks() {
            return new RankGroup(communicators, processSet);
        }

        /// The ranks whose batches are normalised together; all ranks of `Hvd` by default.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        /// Only the batches of these ranks are normalised together.
        public Builder processSet(ProcessSet value) {
            processSet = Optional.of(value);
            return this;
        }

        /// Added to the variance, to avoid division by zero; 1e-5 by default.
        public Builder epsilon(double value) {
            epsilon = value;
            return this;
        }

        /// The weight of the old running statistics in each step; 0.9 by default.
        public Builder momentum(double value) {
            momentum = value;
            return this;
        }

        /// The dimension of channels; the last by default. Use 1 for images in the format `NCHW`.
        public Builder channelAxis(int axis) {
            channelAxis = axis;
            return this;
        }

        /// Adds the variables of the layer to the graph.
        ///
        /// @throws IllegalArgumentException for types other than float32 and float64
        public <T extends TNumber> SyncBatchNormalization<T> build(Class<T> type, long channels) {
            if (type != TFloat32.class && type != TFloat64.class) {
                throw new IllegalArgumentException(
                        "SyncBatchNormalization '%s' computes with TFloat32 or TFloat64, not with %s: convert its input with tf.dtypes.cast"
                                .formatted(name, type.getSimpleName()));
            }
            return new SyncBatchNormalization<>(this, type, channels);
        }
    }
}
