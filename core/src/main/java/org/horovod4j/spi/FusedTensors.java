package org.horovod4j.spi;

import org.horovod4j.DataType;
import org.horovod4j.Shape;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/// Tensors of one data type that travel as one: a fused operation sees them side by side, as if
/// they were a single array, and copies them in and out of it piece by piece.
///
/// The sizes are fixed and the memory is not, so that a plan that repeats makes its bundles once.
/// One thread at a time uses an instance.
public final class FusedTensors {
    private final DataType dataType;

    /// Where each tensor begins among all elements; the last entry is their number.
    private final long[] starts;

    /// The elements of each tensor that this rank wants back, counted from the tensor's first.
    private final long[] wantedFrom;

    private final long[] wantedTo;

    /// Whether everything is wanted back.
    private final boolean whole;

    private final MemorySegment[] inputs;
    private final MemorySegment[] outputs;

    /// Tensors of which this rank wants everything back.
    ///
    /// @param elementCounts of each tensor
    public FusedTensors(DataType dataType, long... elementCounts) {
        this(dataType, elementCounts, new long[elementCounts.length], elementCounts);
    }

    /// Tensors of which this rank wants a window back, as in a reducescatter.
    ///
    /// @param elementCounts of each tensor
    /// @param wantedFrom the first element of each tensor's window
    /// @param wantedTo the first element after each tensor's window
    public FusedTensors(
            DataType dataType, long[] elementCounts, long[] wantedFrom, long[] wantedTo) {
        this.dataType = dataType;
        this.starts = new long[elementCounts.length + 1];
        for (int i = 0; i < elementCounts.length; i++) {
            starts[i + 1] = starts[i] + elementCounts[i];
        }
        this.wantedFrom = wantedFrom.clone();
        this.wantedTo = wantedTo.clone();
        this.whole =
                Arrays.stream(wantedFrom).allMatch(from -> from == 0)
                        && Arrays.equals(elementCounts, wantedTo);
        this.inputs = new MemorySegment[elementCounts.length];
        this.outputs = new MemorySegment[elementCounts.length];
        Arrays.fill(inputs, MemorySegment.NULL);
        Arrays.fill(outputs, MemorySegment.NULL);
    }

    /// Tensors that are shared out by rows, as a reducescatter does: this rank wants its own.
    ///
    /// @param shapes of the tensors, none of them a scalar
    /// @param size how many ranks share
    public static FusedTensors forReducescatter(
            DataType dataType, List<Shape> shapes, int rank, int size) {
        long[] elementCounts = new long[shapes.size()];
        long[] from = new long[shapes.size()];
        long[] to = new long[shapes.size()];
        for (int i = 0; i < elementCounts.length; i++) {
            Shape shape = shapes.get(i);
            elementCounts[i] = shape.elementCount();
            from[i] = firstRow(shape.dimension(0), rank, size) * shape.rowElements();
            to[i] = firstRow(shape.dimension(0), rank + 1, size) * shape.rowElements();
        }
        return new FusedTensors(dataType, elementCounts, from, to);
    }

    /// Where the rows of `rank` begin when the first ranks take one more each where rows do not
    /// divide; those of rank `size` begin at the end.
    public static long firstRow(long rows, int rank, int size) {
        return rows / size * rank + Math.min(rank, rows % size);
    }

    /// Says where tensor `index` is read from and where what this rank wants of it is written to;
    /// for a tensor that is wanted whole, both may be the same memory.
    public void set(int index, MemorySegment input, MemorySegment output) {
        checkSize("input", index, input, starts[index + 1] - starts[index]);
        checkSize("output", index, output, wantedTo[index] - wantedFrom[index]);
        inputs[index] = input;
        outputs[index] = output;
    }

    /// Forgets all memory, so that the collector may have it.
    public void clear() {
        Arrays.fill(inputs, MemorySegment.NULL);
        Arrays.fill(outputs, MemorySegment.NULL);
    }

    public DataType dataType() {
        return dataType;
    }

    /// How many tensors there are.
    public int tensorCount() {
        return inputs.length;
    }

    /// How many elements they have together.
    public long elementCount() {
        return starts[inputs.length];
    }

    public long byteSize() {
        return elementCount() * dataType.byteSize();
    }

    /// Where tensor `index` begins among all elements; tensor `tensorCount()` begins at the end.
    public long start(int index) {
        return starts[index];
    }

    public MemorySegment input(int index) {
        return inputs[index];
    }

    public MemorySegment output(int index) {
        return outputs[index];
    }

    /// Whether every tensor is wanted whole, and where it came from.
    public boolean isInPlace() {
        if (!whole) {
            return false;
        }
        for (int i = 0; i < inputs.length; i++) {
            if (!isInPlace(i)) {
                return false;
            }
        }
        return true;
    }

    /// Copies what is wanted to where it is wanted: what is left of an operation that changes
    /// nothing.
    public void copy() {
        int byteSize = dataType.byteSize();
        for (int i = 0; i < inputs.length; i++) {
            if (!whole || !isInPlace(i)) {
                MemorySegment.copy(
                        inputs[i],
                        wantedFrom[i] * byteSize,
                        outputs[i],
                        0,
                        (wantedTo[i] - wantedFrom[i]) * byteSize);
            }
        }
    }

    /// Copies `count` elements from element `first` on to `target`.
    public void pack(long first, long count, MemorySegment target, long offset) {
        int byteSize = dataType.byteSize();
        long end = first + count;
        long from = first;
        for (int i = tensorAt(first); from < end; i++) {
            long to = Math.min(end, starts[i + 1]);
            if (from < to) {
                MemorySegment.copy(
                        inputs[i],
                        (from - starts[i]) * byteSize,
                        target,
                        offset + (from - first) * byteSize,
                        (to - from) * byteSize);
                from = to;
            }
        }
    }

    /// Copies `count` elements of `source`, which are those from element `first` on, to where they
    /// are wanted.
    public void unpack(MemorySegment source, long offset, long first, long count) {
        int byteSize = dataType.byteSize();
        long end = first + count;
        for (int i = tensorAt(first); i < outputs.length && starts[i] < end; i++) {
            long window = starts[i] + wantedFrom[i];
            long from = Math.max(first, window);
            long to = Math.min(end, starts[i] + wantedTo[i]);
            if (from < to) {
                MemorySegment.copy(
                        source,
                        offset + (from - first) * byteSize,
                        outputs[i],
                        (from - window) * byteSize,
                        (to - from) * byteSize);
            }
        }
    }

    /// The tensor that has element `element`, or an empty one right before it.
    public int tensorAt(long element) {
        int found = Arrays.binarySearch(starts, element);
        return found >= 0 ? found : -found - 2;
    }

    private boolean isInPlace(int index) {
        return inputs[index].equals(outputs[index]);
    }

    private void checkSize(String what, int index, MemorySegment memory, long elements) {
        if (memory.byteSize() != elements * dataType.byteSize()) {
            throw new IllegalArgumentException(
                    "the %s of tensor %d of a bundle takes %d bytes, but the memory given has %d"
                            .formatted(
                                    what,
                                    index,
                                    elements * dataType.byteSize(),
                                    memory.byteSize()));
        }
    }
}
