package org.horovod4j.testing;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.spi.SelectionKernels;

import java.lang.foreign.MemorySegment;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/// The kernels of top-k compression on a fake device: plain loops, run on the threads of its streams.
final class FakeSelections implements SelectionKernels {
    /// Floats or doubles in the memory of a fake device.
    private record Values(MemorySegment memory, DataType dataType) {
        static Values at(long address, DataType dataType, long count) {
            return new Values(FakeDriver.memory(address, count * dataType.byteSize()), dataType);
        }

        double get(long index) {
            return dataType == DataType.FLOAT32
                    ? memory.getAtIndex(JAVA_FLOAT_UNALIGNED, index)
                    : memory.getAtIndex(JAVA_DOUBLE_UNALIGNED, index);
        }

        void set(long index, double value) {
            if (dataType == DataType.FLOAT32) {
                memory.setAtIndex(JAVA_FLOAT_UNALIGNED, index, (float) value);
            } else {
                memory.setAtIndex(JAVA_DOUBLE_UNALIGNED, index, value);
            }
        }
    }

    private static int[] positions(long address, long count) {
        return FakeDriver.memory(address, count * Integer.BYTES).toArray(JAVA_INT_UNALIGNED);
    }

    private static void launch(DeviceStream stream, Runnable work) {
        FakeStream.of(stream).launch(work);
    }

    @Override
    public long scratchBytes() {
        return 16;
    }

    @Override
    public void add(
            DataType dataType,
            long left,
            long right,
            long target,
            long elementCount,
            DeviceStream stream) {
        launch(
                stream,
                () -> {
                    Values sums = Values.at(target, dataType, elementCount);
                    Values first = Values.at(left, dataType, elementCount);
                    Values second = Values.at(right, dataType, elementCount);
                    for (long i = 0; i < elementCount; i++) {
                        sums.set(i, first.get(i) + second.get(i));
                    }
                });
    }

    @Override
    public void selectLargest(
            DataType dataType,
            long values,
            int elementCount,
            int selected,
            long positions,
            long picked,
            long scratch,
            DeviceStream stream) {
        launch(
                stream,
                () -> {
                    Values all = Values.at(values, dataType, elementCount);
                    List<Integer> largest =
                            IntStream.range(0, elementCount)
                                    .boxed()
                                    .sorted(
                                            Comparator.comparingDouble(
                                                    (Integer i) -> -Math.abs(all.get(i))))
                                    .limit(selected)
                                    .sorted()
                                    .toList();
                    MemorySegment found =
                            FakeDriver.memory(positions, (long) selected * Integer.BYTES);
                    Values taken = Values.at(picked, dataType, selected);
                    for (int i = 0; i < selected; i++) {
                        found.setAtIndex(JAVA_INT_UNALIGNED, i, largest.get(i));
                        taken.set(i, all.get(largest.get(i)));
                    }
                });
    }

    @Override
    public void addAt(
            DataType dataType,
            long target,
            long positions,
            long values,
            long positionCount,
            DeviceStream stream) {
        launch(
                stream,
                () -> {
                    Values added = Values.at(values, dataType, positionCount);
                    int[] at = positions(positions, positionCount);
                    for (int i = 0; i < at.length; i++) {
                        Values one =
                                Values.at(target + (long) at[i] * dataType.byteSize(), dataType, 1);
                        one.set(0, one.get(0) + added.get(i));
                    }
                });
    }

    @Override
    public void clear(
            DataType dataType,
            long values,
            long elementCount,
            long positions,
            long positionCount,
            DeviceStream stream) {
        launch(
                stream,
                () -> {
                    Values all = Values.at(values, dataType, elementCount);
                    for (int position : positions(positions, positionCount)) {
                        all.set(position, 0);
                    }
                    for (long i = 0; i < elementCount; i++) {
                        if (!Double.isFinite(all.get(i))) {
                            all.set(i, 0);
                        }
                    }
                });
    }

    @Override
    public void divide(
            DataType dataType, long values, long elementCount, int divisor, DeviceStream stream) {
        launch(
                stream,
                () -> {
                    Values all = Values.at(values, dataType, elementCount);
                    for (long i = 0; i < elementCount; i++) {
                        all.set(i, all.get(i) / divisor);
                    }
                });
    }
}
