package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;

import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.training.TensorSpec;

import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/// Names, types and shapes of DJL arrays.
public final class ArraySpecs {
    private ArraySpecs() {}

    public static TensorSpec of(String name, NDArray array) {
        return new TensorSpec(
                name,
                DataTypes.of(array.getDataType()),
                LongStream.of(array.getShape().getShape()).boxed().toList());
    }

    public static List<TensorSpec> ofAll(Map<String, NDArray> arrays) {
        return arrays.entrySet().stream()
                .map(entry -> of(entry.getKey(), entry.getValue()))
                .toList();
    }

    /// Whether an array has the type and shape of `spec`.
    static boolean matches(TensorSpec spec, NDArray array) {
        return of(spec.name(), array).equals(spec);
    }

    static Shape shape(TensorSpec spec) {
        return new Shape(spec.shape().stream().mapToLong(Long::longValue).toArray());
    }
}
