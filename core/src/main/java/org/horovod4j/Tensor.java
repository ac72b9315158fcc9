package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.util.Objects;
import java.util.Optional;

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
///
/// ## Tensors on a device
/// A tensor may be in the memory of a GPU. Frameworks pass the address of their own memory, and the
/// stream that computes the elements; or [Communicator#allocate(Device, DataType, Shape)] allocates
/// memory. The CPU cannot read it: methods that would do so throw, and [Communicator#copy] copies it.
///
/// ```java
/// Tensor gradient = Tensor.of(Device.cuda(0), address, DataType.FLOAT32, Shape.of(64, 128));
/// Handle<Tensor> sum = Hvd.allreduceAsync("gradient", gradient.readyOn(stream), ReduceOp.SUM);
/// ```
public final class Tensor {
    private static final long ALIGNMENT = 64;

    /// Null on a device.
    private final @Nullable MemorySegment segment;

    private final DataType dataType;
    private final Shape shape;
    private final Device device;

    /// Null in main memory.
    private final @Nullable DeviceMemory deviceMemory;

    /// The memory of a tensor on a device.
    ///
    /// @param owner keeps the memory allocated while it is reachable; null if the program does
    /// @param producer the stream that computes the elements; null if they are ready
    private record DeviceMemory(
            long address, @Nullable Object owner, @Nullable DeviceStream producer) {}

    private Tensor(MemorySegment segment, DataType dataType, Shape shape) {
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
        this.device = Device.HOST;
        this.deviceMemory = null;
    }

    private Tensor(Device device, DeviceMemory memory, DataType dataType, Shape shape) {
        if (device.isHost()) {
            throw new IllegalArgumentException(
                    "for a tensor in main memory, pass a memory segment instead of an address");
        }
        long byteSize = Math.multiplyExact(shape.elementCount(), (long) dataType.byteSize());
        if (memory.address == 0 && byteSize > 0) {
            throw new IllegalArgumentException(
                    "a %s tensor of shape %s on %s needs memory, but its address is 0"
                            .formatted(dataType, shape, device));
        }
        this.segment = null;
        this.dataType = dataType;
        this.shape = shape;
        this.device = device;
        this.deviceMemory = memory;
    }

    /// A view of `segment`. Without `dimensions` it has one dimension with all elements.
    public static Tensor of(MemorySegment segment, DataType dataType, long... dimensions) {
        if (segment.byteSize() % dataType.byteSize() != 0) {
            throw new IllegalArgumentException(
                    "%d bytes are not a whole number of %s elements"
                            .formatted(segment.byteSize(), dataType));
        }
        return new Tensor(
                segment, dataType, shape(segment.byteSize() / dataType.byteSize(), dimensions));
    }

    /// A view of `segment` with the given shape, which may be [Shape#SCALAR].
    public static Tensor of(MemorySegment segment, DataType dataType, Shape shape) {
        return new Tensor(segment, dataType, shape);
    }

    /// A view of memory of `device`, which the caller keeps allocated while the tensor is in use.
    public static Tensor of(Device device, long address, DataType dataType, Shape shape) {
        return new Tensor(device, new DeviceMemory(address, null, null), dataType, shape);
    }

    /// A view of memory of `device` that is allocated as long as `owner` is reachable.
    public static Tensor of(
            Device device, long address, DataType dataType, Shape shape, Object owner) {
        return new Tensor(
                device,
                new DeviceMemory(address, Objects.requireNonNull(owner, "owner"), null),
                dataType,
                shape);
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
    ///
    /// @throws IllegalStateException if the tensor is on a device, where the CPU cannot access it
    public MemorySegment segment() {
        MemorySegment memory = segment;
        if (memory == null) {
            throw notOnHost();
        }
        return memory;
    }

    private IllegalStateException notOnHost() {
        return new IllegalStateException(
                """
                the CPU cannot access a tensor on %s: %s
                Copy it to a tensor in main memory first, with Hvd.copy or Communicator.copy."""
                        .formatted(device, this));
    }

    /// The address of the first element of a tensor on a device.
    ///
    /// @throws IllegalStateException if the tensor is in main memory: see [#segment]
    public long deviceAddress() {
        DeviceMemory memory = deviceMemory;
        if (memory == null) {
            throw new IllegalStateException("%s has no address on a device".formatted(this));
        }
        return memory.address;
    }

    /// The stream that computes the elements, as [#readyOn] has set it; empty if they are ready.
    public Optional<DeviceStream> producer() {
        return deviceMemory == null ? Optional.empty() : Optional.ofNullable(deviceMemory.producer);
    }

    /// The same tensor, whose elements are ready now: without the stream of [#readyOn]. Results of
    /// operations are.
    public Tensor ready() {
        DeviceMemory memory = deviceMemory;
        return memory == null || memory.producer == null
                ? this
                : new Tensor(
                        device,
                        new DeviceMemory(memory.address, memory.owner, null),
                        dataType,
                        shape);
    }

    /// The same tensor, whose elements are ready when `stream` has done what is launched on it now. An
    /// operation that takes the tensor waits for that on the device, and not on the CPU.
    public Tensor readyOn(DeviceStream stream) {
        DeviceMemory memory = deviceMemory;
        if (memory == null || !stream.device().equals(device)) {
            throw new IllegalArgumentException(
                    "%s is on %s, but the stream is on %s"
                            .formatted(this, device, stream.device()));
        }
        return new Tensor(
                device, new DeviceMemory(memory.address, memory.owner, stream), dataType, shape);
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
        return segment == null ? shape.elementCount() * dataType.byteSize() : segment.byteSize();
    }

    /// The same memory with another shape, which has the same number of elements.
    public Tensor reshape(long... dimensions) {
        Shape other = Shape.of(dimensions);
        DeviceMemory memory = deviceMemory;
        if (memory == null) {
            return new Tensor(segment(), dataType, other);
        }
        if (other.elementCount() != shape.elementCount()) {
            throw new IllegalArgumentException(
                    "%s cannot have the shape %s: the number of elements differs"
                            .formatted(this, other));
        }
        return new Tensor(device, memory, dataType, other);
    }

    /// A tensor with the same elements in new memory outside the heap, which any thread may use.
    public Tensor copy() {
        Tensor copy = zeros(dataType, shape);
        copy.segment().copyFrom(segment());
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
        target.copyFrom(segment());
        return array;
    }

    @Override
    public String toString() {
        return "%s%s on %s".formatted(dataType, shape, device);
    }
}
