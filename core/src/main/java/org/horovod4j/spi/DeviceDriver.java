package org.horovod4j.spi;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;

/// Memory, streams, events and small kernels of one device: all that core needs of CUDA.
///
/// Any thread may call any method, several at a time. Methods with a stream launch their work there
/// and return; they have read a [FusedTensors] by then. Memory that they use stays allocated, and host memory unchanged, until that work is
/// complete; the caller sees to that. A call that fails throws a [org.horovod4j.HorovodException]
/// with the words of the driver.
///
/// An implementation selects its device for the calling thread in each call, and leaves it selected.
public interface DeviceDriver extends AutoCloseable {
    Device device();

    /// The same text in all processes of a host that use this device, whatever number it has there.
    String identity();

    /// The device for people, as in `NVIDIA H200`.
    String describe();

    /// Selects the device for the calling thread, for libraries that need it (`cudaSetDevice`).
    void bind();

    /// A tensor of zeros, freed when it is no longer reachable. Ready when the method returns.
    Tensor allocate(DataType dataType, Shape shape);

    /// Locks pages of host memory, so that copies from and to it run at full speed and beside other
    /// work (`cudaHostRegister`). The memory may be shared with other processes.
    PinnedMemory pin(MemorySegment hostMemory);

    /// Opens a stream.
    ///
    /// @param urgent whether its work goes before that of other streams
    DeviceStream openStream(boolean urgent);

    /// Closes a stream from [#openStream], without waiting: what was launched runs to its end. It may
    /// wait for a stream of the program that never continues.
    void closeStream(DeviceStream stream);

    /// Records the current end of the work of `stream`, which may be a stream of a framework.
    DeviceEvent record(DeviceStream stream);

    void copyToHost(long source, MemorySegment target, DeviceStream stream);

    void copyToDevice(MemorySegment source, long target, DeviceStream stream);

    /// Copies from and to any devices of this kind that this process sees.
    void copy(long source, long target, long byteSize, DeviceStream stream);

    /// Sets elements to one value.
    ///
    /// @param elementBytes 1, 2, 4 or 8
    /// @param value the bits of one element, in the low bytes
    void fill(long target, long elementCount, int elementBytes, long value, DeviceStream stream);

    /// Packs elements of fused tensors of this device into one array, as [FusedTensors#pack] does on
    /// the host: multiplies each by `factor`, and converts it to [FusedTensors#wireType]. One kernel
    /// packs all tensors.
    ///
    /// With factor 1 and the same type, it copies the bits. Otherwise it calculates with float32, or
    /// with float64 for float64 and integers, and rounds as the kernels of the CPU do.
    ///
    /// @param first the first element of the fused array
    /// @param target the address of an array of `count` elements of the wire type
    void pack(
            FusedTensors fusedTensors,
            long first,
            long count,
            double factor,
            long target,
            DeviceStream stream);

    /// Unpacks elements to the outputs of fused tensors of this device, as [FusedTensors#unpack] does
    /// on the host: multiplies each by `factor`, and converts it from [FusedTensors#wireType].
    ///
    /// @param source the address of an array of `count` elements of the wire type
    /// @param first the element of the fused array that the first of them is
    void unpack(
            FusedTensors fusedTensors,
            long source,
            long first,
            long count,
            double factor,
            DeviceStream stream);

    /// Multiplies elements in place, with the arithmetic of [#pack].
    void scale(
            DataType dataType, long address, long elementCount, double factor, DeviceStream stream);

    /// The kernels of top-k compression.
    SelectionKernels selections();

    /// Frees streams and events. Tensors from [#allocate] stay valid.
    @Override
    void close();

    /// Host memory with locked pages.
    interface PinnedMemory extends AutoCloseable {
        /// Unlocks the pages. No copy may use them any more.
        @Override
        void close();
    }
}
