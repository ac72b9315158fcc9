package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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

    boolean isTrainable(int position) {
        Parameter parameter = parameters.get(position);
        return parameter.requiresGradient() && parameter.isInitialized();
    }

    BitSet trainable() {
        BitSet trainable = new BitSet(count());
        for (int i = 0; i < count(); i++) {
            trainable.set(i, isTrainable(i));
        }
        return trainable;
    }
}
