package org.horovod4j;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.util.Objects;

/// A view of memory as an array of numbers: segment, data type, shape and device.
///
/// ```java
/// float[] weights = new float[6];
/// Tensor matrix = Tensor.of(weights, 2, 3); // no copy
/// Hvd.allreduce("weights", matrix, ReduceOp.AVERAGE); // writes into `weights`
///
/// Tensor halves = Tensor.of(shorts, DataType.BFLOAT16); // where Java has no such type
/// Tensor outsideHeap = Tensor.zeros(DataType.FLOAT32, Shape.of(1_000_000));
/// ```
///
/// A tensor copies nothing: collectives read and write the array, buffer or segment that it was
/// made of. Elements are contiguous, in row-major order and the byte order of the machine. Memory
/// from [Communicator#allocate] is the fastest, because the ranks of a host share it.
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
            throw new IllegalArgumentException(
                    "the memory of a tensor must be writable, but this segment is read-only");
        }
        this.segment = segment;
        this.dataType = Objects.requireNonNull(dataType, "dataType");
        this.shape = shape;
        this.device = device;
    }

    /// A view of `segment`. Without `dimensions` it has one dimension with all elements.
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

    /// A view of `segment` with the given shape, which may be [Shape#SCALAR].
    public static Tensor of(MemorySegment segment, DataType dataType, Shape shape) {
        return new Tensor(segment, dataType, shape, Device.HOST);
    }

    /// A view of `float32` values. Without `dimensions` it has one dimension.
    public static Tensor of(float[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.FLOAT32, dimensions);
    }

    /// A view of `float64` values. Without `dimensions` it has one dimension.
    public static Tensor of(double[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.FLOAT64, dimensions);
    }

    /// A view of `int32` values. Without `dimensions` it has one dimension.
    public static Tensor of(int[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT32, dimensions);
    }

    /// A view of `int64` values. Without `dimensions` it has one dimension.
    public static Tensor of(long[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT64, dimensions);
    }

    /// A view of `int8` values. For `uint8` and `bool`, name the data type.
    public static Tensor of(byte[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT8, dimensions);
    }

    /// A view of values of one byte: `int8`, `uint8` or `bool`.
    public static Tensor of(byte[] values, DataType dataType, long... dimensions) {
        return of(MemorySegment.ofArray(values), dataType, dimensions);
    }

    /// A view of `int16` values. For `uint16`, `float16` and `bfloat16`, name the data type.
    public static Tensor of(short[] values, long... dimensions) {
        return of(MemorySegment.ofArray(values), DataType.INT16, dimensions);
    }

    /// A view of values of two bytes: `int16`, `uint16`, `float16` or `bfloat16`.
    public static Tensor of(short[] values, DataType dataType, long... dimensions) {
        return of(MemorySegment.ofArray(values), dataType, dimensions);
    }

    /// A view of a buffer, direct or on the heap, from its position to its limit.
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

    /// The memory of all elements.
    public MemorySegment segment() {
        return segment;
    }

    /// The type of all elements.
    public DataType dataType() {
        return dataType;
    }

    /// Its dimensions.
    public Shape shape() {
        return shape;
    }

    /// Where its memory is.
    public Device device() {
        return device;
    }

    /// How many elements it has.
    public long elementCount() {
        return shape.elementCount();
    }

    /// How many bytes its elements take.
    public long byteSize() {
        return segment.byteSize();
    }

    /// The same memory with another shape, which has the same number of elements.
    public Tensor reshape(long... dimensions) {
        return new Tensor(segment, dataType, Shape.of(dimensions), device);
    }

    /// A tensor with the same elements in new memory outside the heap, which any thread may use.
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
                    default ->
                            throw new IllegalArgumentException("not an array of numbers: " + array);
                };
        target.copyFrom(segment);
        return array;
    }

    @Override
    public String toString() {
        return "%s%s on %s".formatted(dataType, shape, device);
    }
}
