package org.horovod4j;

/// The type of a tensor's elements.
///
/// The order of the constants is part of the wire format: add new ones at the end.
public enum DataType {
    UINT8(1),
    INT8(1),
    UINT16(2),
    INT16(2),
    INT32(4),
    INT64(8),
    FLOAT16(2),
    BFLOAT16(2),
    FLOAT32(4),
    FLOAT64(8),
    /// One byte per element: 0 is false, anything else true.
    BOOL(1);

    private final int byteSize;

    DataType(int byteSize) {
        this.byteSize = byteSize;
    }

    /// Bytes of one element.
    public int byteSize() {
        return byteSize;
    }

    /// Whether values have a fraction.
    public boolean isFloatingPoint() {
        return switch (this) {
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> true;
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL -> false;
        };
    }

    /// The name as in NumPy and Horovod: `float32`, `uint8`, …
    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
