package org.horovod4j.tensorflow.kernel;

import org.horovod4j.DataType;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/// The data types that collectives and TensorFlow have in common.
public final class TensorTypes {
    private static final Map<DataType, org.tensorflow.proto.DataType> TO_TENSORFLOW =
            new EnumMap<>(
                    Map.ofEntries(
                            Map.entry(DataType.UINT8, org.tensorflow.proto.DataType.DT_UINT8),
                            Map.entry(DataType.INT8, org.tensorflow.proto.DataType.DT_INT8),
                            Map.entry(DataType.UINT16, org.tensorflow.proto.DataType.DT_UINT16),
                            Map.entry(DataType.INT16, org.tensorflow.proto.DataType.DT_INT16),
                            Map.entry(DataType.INT32, org.tensorflow.proto.DataType.DT_INT32),
                            Map.entry(DataType.INT64, org.tensorflow.proto.DataType.DT_INT64),
                            Map.entry(DataType.FLOAT16, org.tensorflow.proto.DataType.DT_HALF),
                            Map.entry(DataType.BFLOAT16, org.tensorflow.proto.DataType.DT_BFLOAT16),
                            Map.entry(DataType.FLOAT32, org.tensorflow.proto.DataType.DT_FLOAT),
                            Map.entry(DataType.FLOAT64, org.tensorflow.proto.DataType.DT_DOUBLE),
                            Map.entry(DataType.BOOL, org.tensorflow.proto.DataType.DT_BOOL)));

    /// The type of a reference has the number of the type of its value plus this.
    private static final int REFERENCES = 100;

    private static final Map<Integer, DataType> BY_NUMBER = byNumber();

    private TensorTypes() {}

    private static Map<Integer, DataType> byNumber() {
        Map<Integer, DataType> byNumber = new HashMap<>();
        TO_TENSORFLOW.forEach((ours, theirs) -> byNumber.put(theirs.getNumber(), ours));
        return byNumber;
    }

    /// The type of TensorFlow.
    public static org.tensorflow.proto.DataType toTensorFlow(DataType type) {
        return Objects.requireNonNull(TO_TENSORFLOW.get(type));
    }

    /// Our type; empty for strings, complex numbers and other types that collectives do not support.
    public static Optional<DataType> fromTensorFlow(org.tensorflow.proto.DataType type) {
        return Optional.ofNullable(BY_NUMBER.get(type.getNumber()));
    }

    /// The type of the value, if `type` is that of a variable: `DT_FLOAT` for `DT_FLOAT_REF`.
    public static org.tensorflow.proto.DataType ofValue(org.tensorflow.proto.DataType type) {
        int number = type.getNumber();
        return number > REFERENCES
                ? org.tensorflow.proto.DataType.forNumber(number - REFERENCES)
                : type;
    }

    /// @param number of TensorFlow's `DataType`
    static DataType ofNumber(int number) {
        DataType type = BY_NUMBER.get(number);
        if (type == null) {
            throw new IllegalArgumentException(
                    "collectives do not support tensors of type %s"
                            .formatted(org.tensorflow.proto.DataType.forNumber(number)));
        }
        return type;
    }
}
