package org.horovod4j.djl;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.training.CommunicatorProvider;
import org.jspecify.annotations.Nullable;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.stream.IntStream;

/// Batch normalisation over the batches of all ranks together.
///
/// ```java
/// network.add(SyncBatchNorm.builder().setName("norm1").build());
/// ```
///
/// In training, mean and variance of each channel are those of the inputs of all ranks, and backward
/// differentiates through both. Ranks may have batches of different sizes. It costs two small
/// allreduces in forward and two in backward, so it is meant for batches that are too small for
/// statistics of one rank. In evaluation, and with one rank, it equals DJL's [BatchNorm].
///
/// It has the parameters of [BatchNorm] in the same format: a network with [BatchNorm] in its place can
/// load a model that was trained with this block.
public final class SyncBatchNorm extends AbstractBlock {
    /// The version of the format of [BatchNorm].
    private static final byte VERSION = 2;

    private static final int CHANNEL_AXIS = 1;

    private final String name;
    private final CommunicatorProvider communicators;
    private final float epsilon;
    private final float momentum;
    private final Parameter gamma;
    private final Parameter beta;
    private final Parameter runningMean;
    private final Parameter runningVar;
    private long channels;

    private SyncBatchNorm(String name, Builder builder) {
        super(VERSION);
        this.name = name;
        this.communicators = builder.communicators;
        this.epsilon = builder.epsilon;
        this.momentum = builder.momentum;
        this.gamma = parameter("gamma", Parameter.Type.GAMMA, builder.scale);
        this.beta = parameter("beta", Parameter.Type.BETA, builder.center);
        this.runningMean = parameter("runningMean", Parameter.Type.RUNNING_MEAN, false);
        this.runningVar = parameter("runningVar", Parameter.Type.RUNNING_VAR, false);
    }

    private Parameter parameter(String parameterName, Parameter.Type type, boolean requiresGrad) {
        return addParameter(
                Parameter.builder()
                        .setName(parameterName)
                        .setType(type)
                        .optRequiresGrad(requiresGrad)
                        .build());
    }

    public static Builder builder() {
        return new Builder();
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            @Nullable PairList<String, Object> params) {
        NDArray input = inputs.singletonOrThrow();
        ParameterValues parameterValues =
                new ParameterValues(
                        parameterStore.getValue(gamma, input.getDevice(), training),
                        parameterStore.getValue(beta, input.getDevice(), training),
                        parameterStore.getValue(runningMean, input.getDevice(), training),
                        parameterStore.getValue(runningVar, input.getDevice(), training));
        if (training && communicators.current().size() > 1) {
            return new NDList(normalise(communicators.current(), input, parameterValues));
        }
        return BatchNorm.batchNorm(
                input,
                parameterValues.runningMean,
                parameterValues.runningVar,
                parameterValues.gamma,
                parameterValues.beta,
                CHANNEL_AXIS,
                momentum,
                epsilon,
                training);
    }

    private NDArray normalise(
            Communicator communicator, NDArray input, ParameterValues parameterValues) {
        ChannelLayout layout = new ChannelLayout(input.getShape());
        // sums of many small numbers need more than 16 bits
        NDArray x =
                input.getDataType() == DataType.FLOAT64
                        ? input
                        : input.toType(DataType.FLOAT32, false);
        NDArray count =
                x.getManager().create(new double[] {layout.count()}).toType(x.getDataType(), false);

        NDArray total =
                DifferentiableCollectives.allreduce(
                        communicator, name + ".mean", layout.sum(x).concat(count), ReduceOp.SUM);
        NDArray n = total.get("{}:", channels).stopGradient();
        requireVariance(n);
        NDArray mean = total.get(":{}", channels).div(n);
        NDArray centred = x.sub(layout.reshapePerChannel(mean));
        NDArray variance =
                DifferentiableCollectives.allreduce(
                                communicator,
                                name + ".variance",
                                layout.sum(centred.square()),
                                ReduceOp.SUM)
                        .div(n);

        updateRunningStatistic(parameterValues.runningMean, mean);
        updateRunningStatistic(
                parameterValues.runningVar,
                variance.mul(n).div(n.sub(1))); // unbiased, as in libtorch
        NDArray normalised = centred.div(layout.reshapePerChannel(variance.add(epsilon).sqrt()));
        return normalised
                .mul(layout.reshapePerChannel(parameterValues.gamma))
                .add(layout.reshapePerChannel(parameterValues.beta))
                .toType(input.getDataType(), false);
    }

    /// All ranks have the same total, so all of them throw, or none.
    private void requireVariance(NDArray count) {
        double elements = count.toType(DataType.FLOAT64, false).getDouble(0);
        if (elements < 2) {
            throw new IllegalArgumentException(
                    """
                    SyncBatchNorm '%s': all ranks together have %.0f values for each channel
                    A variance needs at least two: use larger batches."""
                            .formatted(name, elements));
        }
    }

    /// Moves a running statistic towards that of this batch.
    private void updateRunningStatistic(NDArray running, NDArray batch) {
        NDArray step = batch.stopGradient().toType(running.getDataType(), false).mul(1 - momentum);
        running.muli(momentum).addi(step);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {inputShapes[0]};
    }

    @Override
    protected void beforeInitialize(Shape... inputShapes) {
        super.beforeInitialize(inputShapes);
        Shape input = inputShapes[0];
        if (input.dimension() <= CHANNEL_AXIS) {
            throw new IllegalArgumentException(
                    "SyncBatchNorm '%s' takes inputs of two or more dimensions, batch and channel first, not %s"
                            .formatted(name, input));
        }
        channels = input.get(CHANNEL_AXIS);
    }

    @Override
    protected void prepare(Shape[] inputShapes) {
        for (Parameter parameter : Arrays.asList(gamma, beta, runningMean, runningVar)) {
            parameter.setShape(new Shape(channels));
        }
    }

    @Override
    protected void saveMetadata(DataOutputStream os) throws IOException {
        saveInputShapes(os);
        os.writeLong(channels);
    }

    @Override
    public void loadMetadata(byte loadVersion, DataInputStream is)
            throws IOException, MalformedModelException {
        if (loadVersion != VERSION) {
            throw new MalformedModelException(
                    "SyncBatchNorm '%s' was saved in format version %d, but only version %d is supported"
                            .formatted(name, loadVersion, VERSION));
        }
        readInputShapes(is);
        channels = is.readLong();
    }

    /// The parameters on the device of the input.
    private record ParameterValues(
            NDArray gamma, NDArray beta, NDArray runningMean, NDArray runningVar) {}

    /// The channels of an input.
    private record ChannelLayout(Shape input) {
        /// The number of elements of each channel.
        long count() {
            return input.get(CHANNEL_AXIS) == 0 ? 0 : input.size() / input.get(CHANNEL_AXIS);
        }

        /// The sum of each channel.
        NDArray sum(NDArray array) {
            return array.sum(
                    IntStream.range(0, input.dimension())
                            .filter(axis -> axis != CHANNEL_AXIS)
                            .toArray());
        }

        /// Values per channel, in a shape that broadcasts to that of the input.
        NDArray reshapePerChannel(NDArray perChannel) {
            long[] shape = new long[input.dimension()];
            Arrays.fill(shape, 1);
            shape[CHANNEL_AXIS] = input.get(CHANNEL_AXIS);
            return perChannel.reshape(shape);
        }
    }

    /// Builds a [SyncBatchNorm], with the same settings as the builder of [BatchNorm].
    public static final class Builder {
        private @Nullable String name;
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private float epsilon = 1e-5f;
        private float momentum = 0.9f;
        private boolean center = true;
        private boolean scale = true;

        private Builder() {}

        /// The name of the layer's allreduces: the same on all ranks, and unique in the network.
        public Builder setName(String layer) {
            this.name = layer;
            return this;
        }

        /// The ranks whose batches are normalised together; all ranks of the job by default.
        public Builder optCommunicator(Communicator communicator) {
            this.communicators = new CommunicatorProvider(communicator);
            return this;
        }

        /// Added to the variance, to avoid division by zero; 1e-5 by default.
        public Builder optEpsilon(float value) {
            this.epsilon = value;
            return this;
        }

        /// The weight of the old running statistics at each batch; 0.9 by default.
        public Builder optMomentum(float value) {
            this.momentum = value;
            return this;
        }

        /// Whether `beta` is trained; true by default.
        public Builder optCenter(boolean trained) {
            this.center = trained;
            return this;
        }

        /// Whether `gamma` is trained; true by default.
        public Builder optScale(boolean trained) {
            this.scale = trained;
            return this;
        }

        /// Builds the block.
        ///
        /// @throws IllegalStateException when it has no name
        public SyncBatchNorm build() {
            if (name == null) {
                throw new IllegalStateException(
                        "a SyncBatchNorm needs a name for its allreduces: call setName with the same name"
                                + " on all ranks");
            }
            return new SyncBatchNorm(name, this);
        }
    }
}
