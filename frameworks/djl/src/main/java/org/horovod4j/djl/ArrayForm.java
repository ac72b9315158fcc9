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
public record ArrayForm(String name, String type, List<Long> shape) {
    public static ArrayForm of(String name, NDArray array) {
        return new ArrayForm(
                name,
                array.getDataType().name(),
                LongStream.of(array.getShape().getShape()).boxed().toList());
    }

    public static List<ArrayForm> all(Map<String, NDArray> arrays) {
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
    public boolean fits(NDArray array) {
        return of(name, array).equals(this);
    }

    /// What is not as the root rank has it; empty when all is.
    public static List<String> differences(List<ArrayForm> root, List<ArrayForm> mine) {
        List<String> found = new ArrayList<>();
        Map<String, ArrayForm> byName = byName(mine);
        for (ArrayForm wanted : root) {
            ArrayForm here = byName.remove(wanted.name);
            if (here == null) {
                found.add("lacks '%s' %s".formatted(wanted.name, wanted.form()));
            } else if (!here.equals(wanted)) {
                found.add(
                        "has '%s' as %s, the root rank as %s"
                                .formatted(wanted.name, here.form(), wanted.form()));
            }
        }
        byName.values().forEach(extra -> found.add("has '%s' beside".formatted(extra.name)));
        return found;
    }

    private static Map<String, ArrayForm> byName(List<ArrayForm> arrays) {
        Map<String, ArrayForm> byName = new LinkedHashMap<>();
        arrays.forEach(array -> byName.put(array.name, array));
        return byName;
    }

    private String form() {
        return type.toLowerCase(Locale.ROOT) + shape;
    }
}
