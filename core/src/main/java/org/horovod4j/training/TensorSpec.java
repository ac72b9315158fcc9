package org.horovod4j.training;

import org.horovod4j.DataType;
import org.horovod4j.Tensor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/// Name, type and shape of a tensor, as ranks and checkpoints exchange them.
///
/// @param name the same on all ranks
/// @param shape the dimensions
public record TensorSpec(String name, DataType dataType, List<Long> shape) {
    public static TensorSpec of(String name, Tensor tensor) {
        List<Long> shape = new ArrayList<>();
        for (int i = 0; i < tensor.shape().rank(); i++) {
            shape.add(tensor.shape().dimension(i));
        }
        return new TensorSpec(name, tensor.dataType(), List.copyOf(shape));
    }

    public static List<TensorSpec> ofAll(Map<String, Tensor> tensors) {
        return tensors.entrySet().stream()
                .map(entry -> of(entry.getKey(), entry.getValue()))
                .toList();
    }

    /// How the tensors of this rank differ from those of the root rank; empty if they do not.
    public static List<String> differences(List<TensorSpec> root, List<TensorSpec> own) {
        List<String> found = new ArrayList<>();
        Map<String, TensorSpec> byName = new LinkedHashMap<>();
        own.forEach(spec -> byName.put(spec.name, spec));
        for (TensorSpec expected : root) {
            TensorSpec here = byName.remove(expected.name);
            if (here == null) {
                found.add("lacks '%s' %s".formatted(expected.name, expected.typeAndShape()));
            } else if (!here.equals(expected)) {
                found.add(
                        "has '%s' as %s, the root rank as %s"
                                .formatted(
                                        expected.name,
                                        here.typeAndShape(),
                                        expected.typeAndShape()));
            }
        }
        byName.values().forEach(extra -> found.add("has '%s' in addition".formatted(extra.name)));
        return found;
    }

    private String typeAndShape() {
        return dataType.name().toLowerCase(Locale.ROOT) + shape;
    }
}
