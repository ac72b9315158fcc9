package org.horovod4j.cuda;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.spi.SelectionKernels;

/// The kernels of top-k compression on a GPU.
record CudaSelections(CudaKernels kernels) implements SelectionKernels {
    @Override
    public long scratchBytes() {
        return CudaKernels.SELECTION_SCRATCH_BYTES;
    }

    @Override
    public void add(
            DataType dataType,
            long left,
            long right,
            long target,
            long elementCount,
            DeviceStream stream) {
        kernels.add(dataType, left, right, target, elementCount, stream.handle());
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
        kernels.selectLargest(
                dataType,
                values,
                elementCount,
                selected,
                positions,
                picked,
                scratch,
                stream.handle());
    }

    @Override
    public void addAt(
            DataType dataType,
            long target,
            long positions,
            long values,
            long positionCount,
            DeviceStream stream) {
        kernels.addAt(dataType, target, positions, values, positionCount, stream.handle());
    }

    @Override
    public void clear(
            DataType dataType,
            long values,
            long elementCount,
            long positions,
            long positionCount,
            DeviceStream stream) {
        kernels.clearAt(dataType, values, positions, positionCount, stream.handle());
        kernels.clearNotFinite(dataType, values, elementCount, stream.handle());
    }

    @Override
    public void divide(
            DataType dataType, long values, long elementCount, int divisor, DeviceStream stream) {
        kernels.divide(dataType, values, elementCount, divisor, stream.handle());
    }
}
