package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.log.Log;
import org.horovod4j.optim.Gradient;
import org.horovod4j.optim.GradientArena;
import org.horovod4j.optim.Gradients;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;

/// The change of each parameter by the wrapped optimizer, which Adasum combines.
///
/// A parameter is updated with the gradient of this rank. Its change is reduced, and the reduced
/// change is added to the old value. So momentum and adaptive rates use the gradients of this rank.
final class BlockDeltas implements Gradients {
    private static final Logger LOG = Log.of(BlockDeltas.class);

    private final BlockParameters parameters;
    private final BlockGradients gradients;
    private final EngineAccess access;
    private final Optimizer optimizer;
    private final Communicator communicator;
    private final @Nullable Tensor[] deltas;
    private final @Nullable NDArray[] startWeights;

    BlockDeltas(
            BlockParameters parameters,
            BlockGradients gradients,
            EngineAccess access,
            Optimizer optimizer,
            Communicator communicator) {
        this.parameters = parameters;
        this.gradients = gradients;
        this.access = access;
        this.optimizer = optimizer;
        this.communicator = communicator;
        this.deltas = new Tensor[parameters.count()];
        this.startWeights = new NDArray[parameters.count()];
    }

    @Override
    public List<String> names() {
        return parameters.names();
    }

    @Override
    public Optional<Tensor> value(int parameter) {
        return parameters.replicatedValue(parameter);
    }

    @Override
    public boolean isTrainable(int parameter) {
        return parameters.isTrainable(parameter);
    }

    /// A running backward pass may still need the old weights.
    @Override
    public boolean canAcquireDuringBackward() {
        return false;
    }

    @Override
    public Gradient acquire(int parameter) {
        Tensor delta = delta(parameter); // first: a failure must not leave the weight updated
        NDArray weight = parameters.array(parameter);
        NDArray start = weight.duplicate();
        try (NDArray gradient = gradients.gradientToApply(parameter)) {
            optimizer.update(parameters.id(parameter), weight, gradient);
        }
        try (NDArray change = weight.sub(start)) {
            access.await(change);
            access.read(change, delta);
        }
        startWeights[parameter] = start;
        return new Gradient.Dense(stream().map(delta::readyOn).orElse(delta));
    }

    @Override
    public Optional<DeviceStream> stream() {
        return gradients.stream();
    }

    @Override
    public void scale(Tensor delta, double factor) {
        int parameter = positionOf(delta);
        NDArray weight = parameters.array(parameter);
        try (NDArray change = weight.zerosLike()) {
            access.write(change, delta);
            try (NDArray scaled = change.muli(factor)) {
                access.read(scaled, delta);
            }
        }
    }

    private int positionOf(Tensor delta) {
        return IntStream.range(0, deltas.length)
                .filter(
                        i -> {
                            Tensor known = deltas[i];
                            return known != null && known.deviceAddress() == delta.deviceAddress();
                        })
                .findFirst()
                .orElseThrow();
    }

    /// Allocated for all parameters at once, when first needed.
    private Tensor delta(int parameter) {
        Tensor known = deltas[parameter];
        if (known != null) {
            return known;
        }
        int[] missing = parameters.trainable().stream().filter(i -> deltas[i] == null).toArray();
        List<Tensor> slices = allocate(Arrays.stream(missing).mapToObj(parameters::array).toList());
        for (int i = 0; i < missing.length; i++) {
            deltas[missing[i]] = slices.get(i);
        }
        return Objects.requireNonNull(deltas[parameter]);
    }

    /// In shared memory, if there is enough.
    private List<Tensor> allocate(List<NDArray> weights) {
        try {
            Device device = stream().map(DeviceStream::device).orElse(Device.HOST);
            return GradientArena.allocate(communicator, device, BlockGradients.specs(weights));
        } catch (ConfigurationException e) {
            LOG.log(
                    Level.WARNING,
                    "changes of weights are copied, because they do not fit into shared memory: {0}",
                    e.getMessage());
            return weights.stream()
                    .map(
                            weight ->
                                    Tensor.zeros(
                                            DataTypes.of(weight.getDataType()),
                                            DataTypes.shape(weight)))
                    .toList();
        }
    }

    @Override
    public void setReduced(int parameter, Gradient reduced) {
        NDArray weight = parameters.array(parameter);
        Tensor memory = delta(parameter);
        try (NDArray start = Objects.requireNonNull(startWeights[parameter]);
                NDArray change = start.getManager().zeros(start.getShape(), start.getDataType())) {
            access.write(change, memory);
            try (NDArray sum = start.add(change)) {
                access.await(sum);
                access.read(sum, memory);
            }
        }
        startWeights[parameter] = null;
        access.write(weight, memory);
    }
}
