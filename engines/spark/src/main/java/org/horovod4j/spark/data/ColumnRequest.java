package org.horovod4j.spark.data;

import org.horovod4j.DataType;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;

/// A column of a `Dataset` or of Parquet files that a training uses.
///
/// @param type to which the values are converted; null to keep the type that they have
public record ColumnRequest(String name, @Nullable DataType type) implements Serializable {
    /// A column with the type that it has; [Column] lists the types.
    public static ColumnRequest of(String name) {
        return new ColumnRequest(name, null);
    }

    /// A column whose values become `type`. `FLOAT32` halves the size of an ML vector.
    public static ColumnRequest of(String name, DataType type) {
        return new ColumnRequest(name, type);
    }
}
