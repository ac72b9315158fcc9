package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.training.CommunicatorProvider;

import java.util.Arrays;
import java.util.stream.LongStream;

/// Batch normalisation over the batches of all ranks together.
///
/// ```java
/// SyncBatchNorm norm = register_module("norm1", new SyncBatchNorm("norm1", 64));
/// ```
///
/// In training, mean and variance of each channel are those of the inputs of all ranks, and backward
/// differentiates through both. Ranks may have batches of different sizes. It costs two small allreduces in
/// forward and two in backward, so it is meant for batches that are too small for statistics of one rank. In
/// evaluation, and with one rank, it equals PyTorch's `BatchNorm`.
///
/// It has the parameters and buffers of PyTorch's `BatchNorm`, with the same names: a network with
/// `BatchNorm` in its place can load what was trained with this module.
public final class SyncBatchNorm extends Module {
    private static final int CHANNEL_AXIS = 1;
    private static final double EPSILON = 1e-5;
    private static final double MOMENTUM = 0.1;

    private final String name;
    private final CommunicatorProvider communicators;
    private final long channels;
    private final Tensor weight;
    private final Tensor bias;
    private final Tensor runningMean;
    private final Tensor runningVar;
    private final Tensor batches;

    /// @param name of the layer's allreduces: the same on all ranks, and unique in the network
    public SyncBatchNorm(String name, long channels) {
        this(name, channels, CommunicatorProvider.FROM_HVD);
    }

    /// @param communicator the ranks whose batches are normalised together
    public SyncBatchNorm(String name, long channels, Communicator communicator) {
        this(name, channels, new CommunicatorProvider(communicator));
    }

    private SyncBatchNorm(String name, long channels, CommunicatorProvider communicators) {
        super("SyncBatchNorm");
        this.name = name;
        this.channels = channels;
        this.communicators = communicators;
        // copies at once: the returned references are invalid after the next registration
        this.weight = TorchParameters.kept(register_parameter("weight", torch.ones(channels)));
        this.bias = TorchParameters.kept(register_parameter("bias", torch.zeros(channels)));
        this.runningMean = buffer("running_mean", torch.zeros(channels));
        this.runningVar = buffer("running_var", torch.ones(channels));
        this.batches = buffer("num_batches_tracked", torch.zeros().to(ScalarType.Long));
    }

    private Tensor buffer(String bufferName, Tensor value) {
        return TorchParameters.kept(register_buffer(bufferName, value));
    }

    /// Normalises a batch, with the channels in its second dimension.
    ///
    /// @throws IllegalArgumentException when the input has other channels, or all ranks together have fewer
    ///     than two values for each channel
    public Tensor forward(Tensor input) {
        if (input.dim() <= CHANNEL_AXIS || input.size(CHANNEL_AXIS) != channels) {
            throw new IllegalArgumentException(
                    "SyncBatchNorm '%s' takes inputs with %d channels in their second dimension, not %s"
                            .formatted(name, channels, TorchTypes.shape(input)));
        }
        if (is_training() && communicators.current().size() > 1) {
            return normalise(communicators.current(), input);
        }
        if (is_training()) {
            batches.add_(new Scalar(1));
        }
        return torch.batch_norm(
                input,
                new TensorOptional(weight),
                new TensorOptional(bias),
                new TensorOptional(runningMean),
                new TensorOptional(runningVar),
                is_training(),
                MOMENTUM,
                EPSILON,
                false);
    }

    private Tensor normalise(Communicator communicator, Tensor input) {
        ScalarType type = input.scalar_type().intern();
        // sums of many small numbers need more than 16 bits
        Tensor x = type == ScalarType.Double ? input : input.to(ScalarType.Float);
        long[] otherAxes =
                LongStream.range(0, input.dim()).filter(axis -> axis != CHANNEL_AXIS).toArray();
        long ownCount = input.numel() / channels;
        Tensor count =
                torch.full(new long[] {1}, new Scalar((double) ownCount))
                        .to(x.device(), x.scalar_type());
        Tensor total =
                DifferentiableCollectives.allreduce(
                        communicator,
                        name + ".mean",
                        torch.cat(new TensorVector(x.sum(otherAxes), count)),
                        ReduceOp.SUM);
        Tensor n = total.narrow(0, channels, 1).detach();
        requireVariance(n.item_double());
        Tensor mean = total.narrow(0, 0, channels).div(n);
        Tensor centred = x.sub(perChannel(mean, input.dim()));
        Tensor variance =
                DifferentiableCollectives.allreduce(
                                communicator,
                                name + ".variance",
                                centred.mul(centred).sum(otherAxes),
                                ReduceOp.SUM)
                        .div(n);
        batches.add_(new Scalar(1));
        updateRunningStatistic(runningMean, mean);
        updateRunningStatistic( // unbiased, as in libtorch
                runningVar, variance.mul(n).div(n.sub(new Scalar(1))));
        return centred.div(perChannel(variance.add(new Scalar(EPSILON)).sqrt(), input.dim()))
                .mul(perChannel(weight, input.dim()))
                .add(perChannel(bias, input.dim()))
                .to(type);
    }

    /// All ranks have the same total, so all of them throw, or none.
    private void requireVariance(double elements) {
        if (elements < 2) {
            throw new IllegalArgumentException(
                    """
                    SyncBatchNorm '%s': all ranks together have %.0f values for each channel
                    A variance needs at least two: use larger batches."""
                            .formatted(name, elements));
        }
    }

    /// Values per channel, in a shape that broadcasts to that of the input.
    private static Tensor perChannel(Tensor values, long dimensions) {
        long[] shape = new long[(int) dimensions];
        Arrays.fill(shape, 1);
        shape[CHANNEL_AXIS] = -1;
        return values.reshape(shape);
    }

    /// Moves a running statistic towards that of this batch.
    private static void updateRunningStatistic(Tensor running, Tensor batch) {
        Tensor step = batch.detach().to(running.scalar_type()).mul(new Scalar(MOMENTUM));
        running.mul_(new Scalar(1 - MOMENTUM)).add_(step);
    }
}
