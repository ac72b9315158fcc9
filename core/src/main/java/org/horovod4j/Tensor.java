package org.horovod4j;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.util.Objects;

/// A view of somebody's memory as an array of numbers: segment, type, shape and device.
///
/// A tensor copies nothing: in-place collectives write straight into the array, buffer or segment
/// it was made of. Elements lie densely, in row-major order and the byte order of the machine.
public final class Tensor {
    private static final long ALIGNMENT = 64;

    private final MemorySegment segment;
    private final DataType dataType;
    private final Shape shape;
    private final Device device;

    private Tensor(MemorySegment segment, DataType dataType, Shape shape, Device device) {
        long byteSize = Math.multiplyExact(shape.elementCount(), (long) dataType.byteSize());
        if (segment.byteSize() != byteSize) {
            throw new IllegalArgumentException(
                    "a %s tensor of shape %s takes %d bytes, but the memory given has %d"
                            .formatted(dataType, shape, byteSize, segment.byteSize()));
        }
        if (segment.isReadOnly()) {
            throw new IllegalArgumentException("a tensor's memory must be writable");
        }
        this.segment = segment;
        this.dataType = Objects.requireNonNull(dataType, "dataType");
        this.shape = shape;
        this.device = device;
    }

    /// A view of `segment`; without dimensions, of one dimension.
    public static Tensor of(MemorySegment segment, DataType dataType, long... dimensions) {
        if (segment.byteSize() % dataType.byteSize() != 0) {
            throw new IllegalArgumentException(
                    "%d bytes are not a whole number of %s elements"
                            .formatted(segment.byteSize(), dataType));
        }
        return new Tensor(
                segment,
                dataType,
                shape(segment.byteSize() / dataType.byteSize(), dimensions),
                Device.HOST);
    }

    /// A view of `segment` with the given shape, which may be a scalar's.
    public static Tensor of(MemorySegment segment, DataType dataType, Shape shape) {
        return new Tensor(segment, dataType, shape, Device.HOST);
    }

    public static Tensor of(float[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.FLOAT32, dimensions);
    }

    public static Tensor of(double[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.FLOAT64, dimensions);
    }

    public static Tensor of(int[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT32, dimensions);
    }

    public static Tensor of(long[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT64, dimensions);
    }

    /// A view of `int8` values; for `uint8` and `bool` name the type.
    public static Tensor of(byte[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT8, dimensions);
    }

    public static Tensor of(byte[] values, DataType dataType, long... dimensions) {
        return of(MemorySegment.ofArray(values), dataType, dimensions);
    }

    /// A view of `int16` values; for `uint16`, `float16` and `bfloat16` name the type.
    public static Tensor of(short[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT16, dimensions);
    }

    public static Tensor of(short[] values, DataType dataType, long... dimensions) {
        return of(MemorySegment.ofArray(values), dataType, dimensions);
    }

    /// A view of the buffer's memory between its position and its limit; direct or on the heap.
    public static Tensor of(Buffer buffer, DataType dataType, long... dimensions) {
        return of(MemorySegment.ofBuffer(buffer), dataType, dimensions);
    }

    /// A new tensor of zeros in native memory, freed by the garbage collector.
    public static Tensor zeros(DataType dataType, Shape shape) {
        long byteSize = Math.multiplyExact(shape.elementCount(), (long) dataType.byteSize());
        return of(Arena.ofAuto().allocate(byteSize, ALIGNMENT), dataType, shape);
    }

    private static Shape shape(long elementCount, long[] dimensions) {
        return dimensions.length == 0 ? Shape.of(elementCount) : Shape.of(dimensions);
    }

    public MemorySegment segment() {
        return segment;
    }

    public DataType dataType() {
        return dataType;
    }

    public Shape shape() {
        return shape;
    }

    public Device device() {
        return device;
    }

    public long elementCount() {
        return shape.elementCount();
    }

    public long byteSize() {
        return segment.byteSize();
    }

    /// The same memory with another shape of as many elements.
    public Tensor reshape(long... dimensions) {
        return new Tensor(segment, dataType, Shape.of(dimensions), device);
    }

    /// A tensor with the same elements in memory of its own, outside the heap, for any thread.
    public Tensor copy() {
        Tensor copy = zeros(dataType, shape);
        copy.segment.copyFrom(segment);
        return copy;
    }

    /// A copy of the elements of a `float32` tensor.
    public float[] toFloatArray() {
        return (float[]) copyTo(new float[arrayLength(DataType.FLOAT32)]);
    }

    /// A copy of the elements of a `float64` tensor.
    public double[] toDoubleArray() {
        return (double[]) copyTo(new double[arrayLength(DataType.FLOAT64)]);
    }

    /// A copy of the elements of an `int32` tensor.
    public int[] toIntArray() {
        return (int[]) copyTo(new int[arrayLength(DataType.INT32)]);
    }

    /// A copy of the elements of an `int64` tensor.
    public long[] toLongArray() {
        return (long[]) copyTo(new long[arrayLength(DataType.INT64)]);
    }

    /// A copy of the elements of a tensor with two bytes per element, as they are in memory.
    public short[] toShortArray() {
        return (short[])
                copyTo(
                        new short
                                [arrayLength(
                                        DataType.INT16,
                                        DataType.UINT16,
                                        DataType.FLOAT16,
                                        DataType.BFLOAT16)]);
    }

    /// A copy of the elements of a tensor with one byte per element, as they are in memory.
    public byte[] toByteArray() {
        return (byte[]) copyTo(new byte[arrayLength(DataType.INT8, DataType.UINT8, DataType.BOOL)]);
    }

    private int arrayLength(DataType... readable) {
        for (DataType type : readable) {
            if (type == dataType) {
                return Math.toIntExact(elementCount());
            }
        }
        throw new IllegalStateException(
                "a %s tensor cannot be read as %s".formatted(dataType, readable[0]));
    }

    private Object copyTo(Object array) {
        MemorySegment target =
                switch (array) {
                    case float[] floats -> MemorySegment.ofArray(floats);
                    case double[] doubles -> MemorySegment.ofArray(doubles);
                    case int[] ints -> MemorySegment.ofArray(ints);
                    case long[] longs -> MemorySegment.ofArray(longs);
                    case short[] shorts -> MemorySegment.ofArray(shorts);
                    case byte[] bytes -> MemorySegment.ofArray(bytes);
                    default -> throw new IllegalArgumentException("no array of numbers: " + array);
                };
        target.copyFrom(segment);
        return array;
    }

    @Override
    public String toString() {
        return "%s%s on %s".formatted(dataType, shape, device);
    }
}
