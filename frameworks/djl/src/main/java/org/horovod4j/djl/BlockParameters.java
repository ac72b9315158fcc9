package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;

import org.horovod4j.Tensor;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The parameters of a block, by position, with their names, which are the same on all ranks, and DJL's
/// ids, which are not.
///
/// A parameter that several blocks share has several names; the first one is used.
final class BlockParameters {
    private final List<String> names = new ArrayList<>();
    private final List<Parameter> parameters = new ArrayList<>();
    private final Map<String, Integer> positions = new HashMap<>();

    BlockParameters(Block block) {
        for (Pair<String, Parameter> named : block.getParameters()) {
            Parameter parameter = named.getValue();
            if (positions.putIfAbsent(parameter.getId(), names.size()) == null) {
                names.add(named.getKey());
                parameters.add(parameter);
            }
        }
    }

    List<String> names() {
        return names;
    }

    int count() {
        return names.size();
    }

    /// The position of the parameter with DJL's `id`.
    int position(String id) {
        Integer position = positions.get(id);
        if (position == null) {
            throw new IllegalStateException(
                    """
                    DistributedOptimizer cannot update the parameter with id %s: its block does not have it
                    Wrap the optimizer with the block of the trainer: wrap(optimizer, model.getBlock())."""
                            .formatted(id));
        }
        return position;
    }

    String id(int position) {
        return parameters.get(position).getId();
    }

    NDArray array(int position) {
        return parameters.get(position).getArray();
    }

    boolean isInitialized(int position) {
        return parameters.get(position).isInitialized();
    }

    boolean isTrainable(int position) {
        Parameter parameter = parameters.get(position);
        return parameter.requiresGradient() && parameter.isInitialized();
    }

    /// The value, if all ranks should have the same: that of a trainable parameter or a frozen weight.
    /// Other arrays, such as running statistics, change in forward passes and may differ.
    Optional<Tensor> replicatedValue(int position) {
        return isReplicated(position)
                ? Optional.of(TensorView.of(array(position)).tensor())
                : Optional.empty();
    }

    private boolean isReplicated(int position) {
        Parameter parameter = parameters.get(position);
        return parameter.isInitialized()
                && (parameter.requiresGradient()
                        || switch (parameter.getType()) {
                            case WEIGHT, BIAS, GAMMA, BETA -> true;
                            case RUNNING_MEAN, RUNNING_VAR, OTHER -> false;
                        });
    }

    BitSet trainable() {
        BitSet trainable = new BitSet(count());
        for (int i = 0; i < count(); i++) {
            trainable.set(i, isTrainable(i));
        }
        return trainable;
    }
}
