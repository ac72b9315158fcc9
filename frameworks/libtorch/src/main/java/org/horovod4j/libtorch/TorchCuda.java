package org.horovod4j.libtorch;

import static org.horovod4j.natives.NativeLibrary.call;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/// The part of libtorch for NVIDIA GPUs: streams, and tensors in memory that others allocated.
///
/// Nothing here waits for a GPU. Copies are launched on the current stream of the calling thread, on
/// which libtorch launches all its work: so what libtorch launched before runs before them.
public final class TorchCuda {
    private static final String STREAMS_LIBRARY = "libc10_cuda.so";
    private static final String LIBRARY = "libtorch_cuda.so";
    private static final String SET_STORAGE = "aoti_torch_cuda_set__source_Tensor";

    /// A `c10::cuda::CUDAStream`: device and number. It has no destructor, so C++ returns it in
    /// registers.
    private static final StructLayout STREAM = MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG);

    private final TorchTensors tensors;
    private final MethodHandle currentStream;
    private final MethodHandle streamHandle;
    private final MethodHandle setStorage;

    private TorchCuda(TorchTensors tensors, LibTorch streams, LibTorch library) {
        this.tensors = tensors;
        currentStream =
                streams.function(
                        "_ZN3c104cuda20getCurrentCUDAStreamEa",
                        FunctionDescriptor.of(STREAM, JAVA_BYTE));
        streamHandle =
                streams.function(
                        "_ZNK3c104cuda10CUDAStream6streamEv",
                        FunctionDescriptor.of(ADDRESS, ADDRESS));
        setStorage =
                library.function(SET_STORAGE, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    }

    /// Opens the libraries that a binding has loaded. Call it when there is a tensor on a GPU.
    ///
    /// @throws UnsupportedOperationException when a library cannot be opened or lacks a function
    public static TorchCuda open(TorchRuntime torch) {
        return new TorchCuda(
                torch.tensors(), LibTorch.open(STREAMS_LIBRARY), LibTorch.open(LIBRARY));
    }

    /// The `cudaStream_t` on which libtorch launches the work of this thread. In a hook it is the
    /// stream that computes the gradient. Does not throw for a device that has tensors.
    ///
    /// @param device its number, as libtorch and CUDA count
    public long currentStream(int device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stream =
                    call(
                            "getCurrentCUDAStream",
                            () ->
                                    (MemorySegment)
                                            currentStream.invokeExact(
                                                    (SegmentAllocator) arena, (byte) device));
            return call(
                            "CUDAStream::stream",
                            () -> (MemorySegment) streamHandle.invokeExact(stream))
                    .address();
        }
    }

    /// Moves a dense tensor into memory of its device, in row-major order, with its elements. The
    /// caller keeps the memory allocated as long as the tensor lives.
    ///
    /// @throws IllegalStateException when libtorch fails
    public void moveInto(long tensor, long address) {
        read(tensor, address);
        tensors.setMemory(tensor, address, SET_STORAGE, setStorage);
    }

    /// Launches a copy of the elements of a dense tensor, in row-major order.
    ///
    /// @param into memory on the device of the tensor
    /// @throws IllegalStateException when libtorch fails
    public void read(long tensor, long into) {
        try (TorchTensors.OwnedTensor target = tensors.viewLike(tensor, into)) {
            tensors.copy(tensor, target.address());
        }
    }

    /// Launches a copy of elements in row-major order to a dense tensor.
    ///
    /// @param from memory on the device of the tensor
    /// @throws IllegalStateException when libtorch fails
    public void write(long tensor, long from) {
        try (TorchTensors.OwnedTensor source = tensors.viewLike(tensor, from)) {
            tensors.copy(source.address(), tensor);
        }
    }
}
