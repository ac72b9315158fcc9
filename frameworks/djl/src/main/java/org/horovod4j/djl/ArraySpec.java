package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;

/// What an array is like, as ranks and checkpoints tell of it.
///
/// @param name the same on all ranks
/// @param type the name of a DJL data type
/// @param shape its dimensions
public record ArraySpec(String name, String type, List<Long> shape) {
    public static ArraySpec of(String name, NDArray array) {
        return new ArraySpec(
                name,
                array.getDataType().name(),
                LongStream.of(array.getShape().getShape()).boxed().toList());
    }

    public static List<ArraySpec> ofAll(Map<String, NDArray> arrays) {
        return arrays.entrySet().stream()
                .map(entry -> of(entry.getKey(), entry.getValue()))
                .toList();
    }

    public DataType dataType() {
        return DataType.valueOf(type);
    }

    public Shape djlShape() {
        return new Shape(shape.stream().mapToLong(Long::longValue).toArray());
    }

    /// Whether an array is like this, whatever its name.
    public boolean matches(NDArray array) {
        return of(name, array).equals(this);
    }

    /// What is not as the root rank has it; empty when all is.
    public static List<String> differences(List<ArraySpec> root, List<ArraySpec> mine) {
        List<String> found = new ArrayList<>();
        Map<String, ArraySpec> byName = byName(mine);
        for (ArraySpec wanted : root) {
            ArraySpec here = byName.remove(wanted.name);
            if (here == null) {
                found.add("lacks '%s' %s".formatted(wanted.name, wanted.typeAndShape()));
            } else if (!here.equals(wanted)) {
                found.add(
                        "has '%s' as %s, the root rank as %s"
                                .formatted(
                                        wanted.name, here.typeAndShape(), wanted.typeAndShape()));
            }
        }
        byName.values().forEach(extra -> found.add("has '%s' beside".formatted(extra.name)));
        return found;
    }

    private static Map<String, ArraySpec> byName(List<ArraySpec> arrays) {
        Map<String, ArraySpec> byName = new LinkedHashMap<>();
        arrays.forEach(array -> byName.put(array.name, array));
        return byName;
    }

    private String typeAndShape() {
        return type.toLowerCase(Locale.ROOT) + shape;
    }
}
