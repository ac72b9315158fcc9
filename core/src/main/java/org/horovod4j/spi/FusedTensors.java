package org.horovod4j.spi;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/// Tensors of one data type that one collective processes together, as if they were a single array.
/// The collective copies them in and out of that array piece by piece.
///
/// Sizes are fixed at construction. The memory can change, so a plan that repeats creates its
/// instances once. One thread at a time changes an instance; helper threads may read it meanwhile.
///
/// Tensors on a device have addresses instead of segments: [DeviceDriver#pack] packs them.
public final class FusedTensors {
    private final DataType dataType;

    /// The type in which elements are sent.
    private final DataType wireType;

    /// The first element of each tensor in the fused array; the last entry is the total element
    /// count.
    private final long[] starts;

    /// The elements of each tensor that this rank receives: the tensor's *output range*.
    private final long[] outputStarts;

    private final long[] outputEnds;

    /// Whether every output range is the whole tensor.
    private final boolean whole;

    /// The elements of a row of each tensor if rows are distributed over the ranks, else null.
    private final long @Nullable [] rowElements;

    private final TensorMemory[] memory;

    /// Where a tensor is read from and written to.
    ///
    /// An object for each tensor, because HotSpot's optimizing compiler handles stores into an array of
    /// interfaces badly: it compiles the code around them several times before it gets them right.
    private static final class TensorMemory {
        MemorySegment input = MemorySegment.NULL;
        MemorySegment output = MemorySegment.NULL;
    }

    /// Tensors that this rank receives completely.
    ///
    /// @param elementCounts the element count of each tensor
    public FusedTensors(DataType dataType, long... elementCounts) {
        this(dataType, dataType, elementCounts);
    }

    /// Tensors that this rank receives completely.
    ///
    /// @param wireType the type in which elements are sent, for tensors on a device
    /// @param elementCounts the element count of each tensor
    public FusedTensors(DataType dataType, DataType wireType, long[] elementCounts) {
        this(
                dataType,
                wireType,
                elementCounts,
                new long[elementCounts.length],
                elementCounts,
                null);
    }

    /// Tensors of which this rank receives a range of elements, as in a reducescatter.
    ///
    /// @param elementCounts the element count of each tensor
    /// @param outputStarts the first element of each tensor's output range
    /// @param outputEnds the first element after each tensor's output range
    public FusedTensors(
            DataType dataType, long[] elementCounts, long[] outputStarts, long[] outputEnds) {
        this(dataType, dataType, elementCounts, outputStarts, outputEnds, null);
    }

    private FusedTensors(
            DataType dataType,
            DataType wireType,
            long[] elementCounts,
            long[] outputStarts,
            long[] outputEnds,
            long @Nullable [] rowElements) {
        this.rowElements = rowElements;
        this.dataType = dataType;
        this.wireType = wireType;
        this.starts = new long[elementCounts.length + 1];
        for (int i = 0; i < elementCounts.length; i++) {
            starts[i + 1] = starts[i] + elementCounts[i];
        }
        this.outputStarts = outputStarts.clone();
        this.outputEnds = outputEnds.clone();
        this.whole =
                Arrays.stream(outputStarts).allMatch(from -> from == 0)
                        && Arrays.equals(elementCounts, outputEnds);
        this.memory = new TensorMemory[elementCounts.length];
        Arrays.setAll(memory, _ -> new TensorMemory());
    }

    /// Tensors of another type with the same element counts and output ranges, without memory.
    public FusedTensors withDataType(DataType other) {
        long[] elementCounts = new long[memory.length];
        Arrays.setAll(elementCounts, i -> starts[i + 1] - starts[i]);
        return new FusedTensors(other, other, elementCounts, outputStarts, outputEnds, rowElements);
    }

    /// Tensors whose rows are distributed over the ranks, as in a reducescatter. The output range
    /// of this rank is its own rows.
    ///
    /// @param shapes the shapes of the tensors, none of them a scalar
    /// @param size the number of ranks
    public static FusedTensors forReducescatter(
            DataType dataType, List<Shape> shapes, int rank, int size) {
        long[] elementCounts = new long[shapes.size()];
        long[] from = new long[shapes.size()];
        long[] to = new long[shapes.size()];
        long[] rowElements = new long[shapes.size()];
        for (int i = 0; i < elementCounts.length; i++) {
            Shape shape = shapes.get(i);
            elementCounts[i] = shape.elementCount();
            rowElements[i] = shape.rowElements();
            from[i] = firstRow(shape.dimension(0), rank, size) * shape.rowElements();
            to[i] = firstRow(shape.dimension(0), rank + 1, size) * shape.rowElements();
        }
        return new FusedTensors(dataType, dataType, elementCounts, from, to, rowElements);
    }

    /// Whether the rows of all tensors are distributed over the ranks, as by [#forReducescatter].
    public boolean isScattered() {
        return rowElements != null;
    }

    /// The first element that a rank receives of a tensor, in the fused array; for rank `size` the
    /// end of the tensor.
    ///
    /// @throws IllegalStateException if [#isScattered] is false
    public long scatterStart(int index, int rank, int size) {
        if (rowElements == null) {
            throw new IllegalStateException("the tensors are not distributed by rows");
        }
        long perRow = rowElements[index];
        long rows = perRow == 0 ? 0 : (starts[index + 1] - starts[index]) / perRow;
        return starts[index] + firstRow(rows, rank, size) * perRow;
    }

    /// The first row of `rank`. If the rows do not divide evenly, the first ranks get one more
    /// each. The first row of rank `size` is `rows`.
    public static long firstRow(long rows, int rank, int size) {
        return rows / size * rank + Math.min(rank, rows % size);
    }

    /// Sets the memory of tensor `index`: its elements are read from `input`, and this rank's
    /// output range is written to `output`. Both may be the same memory if the output range is the
    /// whole tensor.
    public void set(int index, MemorySegment input, MemorySegment output) {
        checkSize("input", index, input, starts[index + 1] - starts[index]);
        checkSize("output", index, output, outputEnds[index] - outputStarts[index]);
        memory[index].input = input;
        memory[index].output = output;
    }

    /// Sets the memory of tensor `index` on a device, as [#set] does for main memory. The caller has
    /// checked its size.
    public void setAddresses(int index, long input, long output) {
        memory[index].input = MemorySegment.ofAddress(input);
        memory[index].output = MemorySegment.ofAddress(output);
    }

    /// Drops all references to memory, so that it can be garbage-collected.
    public void clear() {
        for (TensorMemory each : memory) {
            each.input = MemorySegment.NULL;
            each.output = MemorySegment.NULL;
        }
    }

    public DataType dataType() {
        return dataType;
    }

    /// The type in which elements are sent: a smaller one if tensors on a device are compressed, else
    /// [#dataType].
    public DataType wireType() {
        return wireType;
    }

    /// The number of tensors.
    public int tensorCount() {
        return memory.length;
    }

    /// The number of elements of all tensors together.
    public long elementCount() {
        return starts[memory.length];
    }

    public long byteSize() {
        return elementCount() * dataType.byteSize();
    }

    /// The first element of tensor `index` in the fused array; `elementCount()` for
    /// `index == tensorCount()`.
    public long start(int index) {
        return starts[index];
    }

    public MemorySegment input(int index) {
        return memory[index].input;
    }

    public MemorySegment output(int index) {
        return memory[index].output;
    }

    /// The address on the device that tensor `index` is read from.
    public long inputAddress(int index) {
        return memory[index].input.address();
    }

    /// The address on the device that the output range of tensor `index` is written to.
    public long outputAddress(int index) {
        return memory[index].output.address();
    }

    /// The first element of the output range of tensor `index`, counted from the tensor's start.
    public long outputStart(int index) {
        return outputStarts[index];
    }

    /// The first element after the output range of tensor `index`, counted from the tensor's start.
    public long outputEnd(int index) {
        return outputEnds[index];
    }

    /// Whether every output range is the whole tensor and every output is its input.
    public boolean isInPlace() {
        if (!whole) {
            return false;
        }
        for (int i = 0; i < memory.length; i++) {
            if (!isInPlace(i)) {
                return false;
            }
        }
        return true;
    }

    /// Whether `thread` may access the memory of all tensors.
    public boolean isAccessibleBy(Thread thread) {
        for (int i = 0; i < memory.length; i++) {
            if (!input(i).isAccessibleBy(thread) || !output(i).isAccessibleBy(thread)) {
                return false;
            }
        }
        return true;
    }

    /// Copies each output range from input to output, for a collective that changes no values.
    public void copy() {
        int byteSize = dataType.byteSize();
        for (int i = 0; i < memory.length; i++) {
            if (!whole || !isInPlace(i)) {
                MemorySegment.copy(
                        input(i),
                        outputStarts[i] * byteSize,
                        output(i),
                        0,
                        (outputEnds[i] - outputStarts[i]) * byteSize);
            }
        }
    }

    /// Copies `count` elements, from element `first` of the fused array on, to `target`.
    public void pack(long first, long count, MemorySegment target, long offset) {
        int byteSize = dataType.byteSize();
        long end = first + count;
        long from = first;
        for (int i = tensorAt(first); from < end; i++) {
            long to = Math.min(end, starts[i + 1]);
            if (from < to) {
                MemorySegment.copy(
                        input(i),
                        (from - starts[i]) * byteSize,
                        target,
                        offset + (from - first) * byteSize,
                        (to - from) * byteSize);
                from = to;
            }
        }
    }

    /// Copies `count` elements of `source` to the outputs. They are the elements of the fused array
    /// from `first` on; those outside the output ranges are skipped.
    public void unpack(MemorySegment source, long offset, long first, long count) {
        int byteSize = dataType.byteSize();
        long end = first + count;
        for (int i = tensorAt(first); i < memory.length && starts[i] < end; i++) {
            long outputStart = starts[i] + outputStarts[i];
            long from = Math.max(first, outputStart);
            long to = Math.min(end, starts[i] + outputEnds[i]);
            if (from < to) {
                MemorySegment.copy(
                        source,
                        offset + (from - first) * byteSize,
                        output(i),
                        (from - outputStart) * byteSize,
                        (to - from) * byteSize);
            }
        }
    }

    /// The tensor that contains `element`, or an empty tensor right before it.
    public int tensorAt(long element) {
        int found = Arrays.binarySearch(starts, element);
        return found >= 0 ? found : -found - 2;
    }

    private boolean isInPlace(int index) {
        return input(index).equals(output(index));
    }

    private void checkSize(String what, int index, MemorySegment segment, long elements) {
        if (segment.byteSize() != elements * dataType.byteSize()) {
            throw new IllegalArgumentException(
                    "the %s of fused tensor %d needs %d bytes, but its memory has %d"
                            .formatted(
                                    what,
                                    index,
                                    elements * dataType.byteSize(),
                                    segment.byteSize()));
        }
    }
}
