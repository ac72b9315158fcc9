package org.horovod4j.libtorch;

import static org.horovod4j.libtorch.LibTorch.POINTER;
import static org.horovod4j.libtorch.LibTorch.at;
import static org.horovod4j.libtorch.LibTorch.check;
import static org.horovod4j.natives.NativeLibrary.call;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/// The tensors of libtorch: their memory, and copies of them.
///
/// An `at::Tensor` is one pointer to a reference-counted object. An undefined tensor points at a
/// static object that is not counted.
@SuppressWarnings("restricted") // tensors are given by address
public final class TorchTensors {
    /// The declared return type of functions that return an `at::Tensor`. A tensor has a destructor,
    /// so C++ returns it through memory of the caller although it is small. The linker does so only
    /// for structs larger than two registers.
    private static final StructLayout RETURNED_TENSOR =
            MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG, JAVA_LONG);

    /// libtorch's number for the device of the host's memory.
    private static final int HOST = 0;

    /// libtorch's number for devices of CUDA.
    private static final int CUDA = 1;

    private static final int BLOCKING = 0;

    private final Autograd autograd;

    private final MethodHandle dataPointer;
    private final MethodHandle dimensions;
    private final MethodHandle sizes;
    private final MethodHandle strides;
    private final MethodHandle elementType;
    private final MethodHandle deviceType;
    private final MethodHandle deviceIndex;
    private final MethodHandle storageSize;
    private final MethodHandle tensorFromMemory;
    private final MethodHandle setStorage;
    private final MethodHandle emptyTensor;
    private final MethodHandle copy;
    private final MethodHandle newTensor;
    private final MethodHandle deleteTensor;
    private final MethodHandle indices;
    private final MethodHandle values;

    /// The pointer of an undefined tensor. It is not reference-counted.
    private final long undefined;

    /// @throws UnsupportedOperationException when the library lacks a function
    TorchTensors(LibTorch library, Autograd autograd) {
        this.autograd = autograd;
        FunctionDescriptor binary = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);
        FunctionDescriptor unary = FunctionDescriptor.of(RETURNED_TENSOR, ADDRESS);
        dataPointer = library.criticalFunction("aoti_torch_get_data_ptr", binary);
        dimensions = library.criticalFunction("aoti_torch_get_dim", binary);
        sizes = library.criticalFunction("aoti_torch_get_sizes", binary);
        strides = library.criticalFunction("aoti_torch_get_strides", binary);
        elementType = library.criticalFunction("aoti_torch_get_dtype", binary);
        deviceType = library.criticalFunction("aoti_torch_get_device_type", binary);
        deviceIndex = library.criticalFunction("aoti_torch_get_device_index", binary);
        storageSize = library.criticalFunction("aoti_torch_get_storage_size", binary);
        tensorFromMemory =
                library.function(
                        "aoti_torch_create_tensor_from_blob",
                        FunctionDescriptor.of(
                                JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT,
                                JAVA_INT, JAVA_INT, ADDRESS));
        setStorage = library.function("aoti_torch_cpu_set__source_Tensor", binary);
        emptyTensor =
                library.function(
                        "aoti_torch_empty_strided",
                        FunctionDescriptor.of(
                                JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, JAVA_INT, JAVA_INT, JAVA_INT,
                                ADDRESS));
        copy =
                library.function(
                        "aoti_torch_copy_",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
        newTensor =
                library.function(
                        "aoti_torch_new_uninitialized_tensor",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS));
        deleteTensor =
                library.function(
                        "aoti_torch_delete_tensor_object",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS));
        indices = library.function("_ZN2at4_ops8_indices4callERKNS_6TensorE", unary);
        values = library.function("_ZN2at4_ops7_values4callERKNS_6TensorE", unary);
        try (Arena arena = Arena.ofConfined();
                OwnedTensor tensor = newUndefined(arena)) {
            undefined = at(tensor.address()).reinterpret(POINTER).get(JAVA_LONG, 0);
        }
    }

    /// The bytes of a dense tensor in host memory.
    public MemorySegment memory(long tensor, long byteSize) {
        return queryPointer("aoti_torch_get_data_ptr", dataPointer, tensor).reinterpret(byteSize);
    }

    /// Whether the elements of a dense tensor are contiguous and in row-major order.
    public boolean isRowMajor(long tensor) {
        long[] sizes = sizes(tensor);
        MemorySegment strides =
                queryPointer("aoti_torch_get_strides", this.strides, tensor)
                        .reinterpret((long) sizes.length * Long.BYTES);
        long expected = 1;
        for (int i = sizes.length - 1; i >= 0; i--) {
            if (sizes[i] == 0) {
                return true;
            }
            if (sizes[i] != 1 && strides.getAtIndex(JAVA_LONG, i) != expected) {
                return false;
            }
            expected *= sizes[i];
        }
        return true;
    }

    /// The dimensions of a tensor.
    public long[] sizes(long tensor) {
        long count = queryLong("aoti_torch_get_dim", dimensions, tensor);
        return queryPointer("aoti_torch_get_sizes", sizes, tensor)
                .reinterpret(count * Long.BYTES)
                .toArray(JAVA_LONG);
    }

    /// Moves a dense host tensor into `memory`, in row-major order. The elements are whatever is in
    /// `memory`. The caller keeps `memory` alive as long as the tensor lives.
    public void setMemory(long tensor, MemorySegment memory) {
        setMemory(tensor, memory.address(), "aoti_torch_cpu_set__source_Tensor", setStorage);
    }

    /// @param address of memory on the device of the tensor
    /// @param name of `function`, for errors
    /// @param function sets the storage of a tensor on that device
    void setMemory(long tensor, long address, String name, MethodHandle function) {
        try (OwnedTensor there = viewLike(tensor, address)) {
            // not recorded: autograd refuses the change of a parameter
            autograd.withGradMode(
                    false,
                    () ->
                            check(
                                    name,
                                    () ->
                                            (int)
                                                    function.invokeExact(
                                                            at(tensor), at(there.address()))));
        }
    }

    /// A tensor over the memory at `address`, in row-major order, of the shape, type and device of
    /// `like`. To close it does not free the memory.
    OwnedTensor viewLike(long like, long address) {
        long[] sizes = sizes(like);
        int type = elementType(like);
        int device = (int) queryLong("aoti_torch_get_device_type", deviceType, like);
        int index = device == HOST ? 0 : deviceIndex(like);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sizesAt = arena.allocateFrom(JAVA_LONG, sizes);
            MemorySegment stridesAt = arena.allocateFrom(JAVA_LONG, rowMajorStrides(sizes));
            MemorySegment result = arena.allocate(JAVA_LONG);
            check(
                    "aoti_torch_create_tensor_from_blob",
                    () ->
                            (int)
                                    tensorFromMemory.invokeExact(
                                            at(address),
                                            (long) sizes.length,
                                            sizesAt,
                                            stridesAt,
                                            0L,
                                            type,
                                            device,
                                            index,
                                            result));
            return new OwnedTensor(result);
        }
    }

    /// The address of the first element of a dense tensor, on its device.
    public long address(long tensor) {
        return queryLong("aoti_torch_get_data_ptr", dataPointer, tensor);
    }

    /// Whether a tensor is in the memory of an NVIDIA GPU.
    public boolean isOnCuda(long tensor) {
        return queryLong("aoti_torch_get_device_type", deviceType, tensor) == CUDA;
    }

    /// The number of the device of a tensor that is not in host memory.
    public int deviceIndex(long tensor) {
        return (int) queryLong("aoti_torch_get_device_index", deviceIndex, tensor);
    }

    private static long[] rowMajorStrides(long[] sizes) {
        long[] strides = new long[sizes.length];
        long stride = 1;
        for (int i = sizes.length - 1; i >= 0; i--) {
            strides[i] = stride;
            stride *= Math.max(1, sizes[i]);
        }
        return strides;
    }

    private int elementType(long tensor) {
        return (int) queryLong("aoti_torch_get_dtype", elementType, tensor);
    }

    private MemorySegment queryPointer(String name, MethodHandle query, long tensor) {
        return MemorySegment.ofAddress(queryLong(name, query, tensor));
    }

    private long queryLong(String name, MethodHandle query, long tensor) {
        long[] result = new long[1];
        MemorySegment slot = MemorySegment.ofArray(result);
        check(name, () -> (int) query.invokeExact(at(tensor), slot));
        return result[0];
    }

    /// Copies the elements of a dense tensor on any device, in row-major order.
    ///
    /// @param into memory of the size of the tensor
    /// @throws IllegalStateException when libtorch fails, for example when memory is exhausted
    public void read(long tensor, MemorySegment into) {
        try (OwnedTensor clone = cloneRowMajor(tensor)) {
            into.copyFrom(clone.memory());
        }
    }

    /// Overwrites the elements of a dense tensor on any device.
    ///
    /// @param from the elements in row-major order
    /// @throws IllegalStateException when libtorch fails, for example when memory is exhausted
    public void write(long tensor, MemorySegment from) {
        try (OwnedTensor source = newRowMajor(tensor)) {
            source.memory().copyFrom(from);
            copy(source.address(), tensor);
        }
    }

    /// A copy in row-major order, in host memory.
    ///
    /// @throws IllegalStateException when libtorch fails, for example when memory is exhausted
    public OwnedTensor cloneRowMajor(long tensor) {
        return copiedInto(newRowMajor(tensor), tensor);
    }

    /// A tensor of the same shape and type, in row-major order, in host memory. Its elements are not
    /// initialised.
    ///
    /// @throws IllegalStateException when libtorch fails, for example when memory is exhausted
    OwnedTensor newRowMajor(long like) {
        return newRowMajor(like, HOST, 0);
    }

    /// Stores a tensor with the elements of `host` in `slot`, on the device of `like`.
    ///
    /// @param host a tensor in host memory; its holder still closes it
    /// @throws IllegalStateException when libtorch fails, for example when memory is exhausted
    void store(OwnedTensor host, long like, MemorySegment slot) {
        int device = (int) queryLong("aoti_torch_get_device_type", deviceType, like);
        if (device == HOST) {
            host.swap(slot);
            return;
        }
        int index = deviceIndex(like);
        try (OwnedTensor there = copiedInto(newRowMajor(like, device, index), host.address())) {
            there.swap(slot);
        }
    }

    private OwnedTensor newRowMajor(long like, int device, int index) {
        long[] sizes = sizes(like);
        int type = elementType(like);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sizesAt = arena.allocateFrom(JAVA_LONG, sizes);
            MemorySegment stridesAt = arena.allocateFrom(JAVA_LONG, rowMajorStrides(sizes));
            MemorySegment result = arena.allocate(JAVA_LONG);
            check(
                    "aoti_torch_empty_strided",
                    () ->
                            (int)
                                    emptyTensor.invokeExact(
                                            (long) sizes.length,
                                            sizesAt,
                                            stridesAt,
                                            type,
                                            device,
                                            index,
                                            result));
            return new OwnedTensor(result);
        }
    }

    private OwnedTensor copiedInto(OwnedTensor target, long source) {
        try {
            copy(source, target.address());
            return target;
        } catch (RuntimeException | Error e) {
            target.close();
            throw e;
        }
    }

    /// Waits until the elements are there, if they come from or go to the host. On one device the copy
    /// runs on the current stream. Autograd does not record it.
    void copy(long source, long target) {
        autograd.withGradMode(
                false,
                () ->
                        check(
                                "aoti_torch_copy_",
                                () -> (int) copy.invokeExact(at(target), at(source), BLOCKING)));
    }

    /// The indices of a sparse tensor. Does not throw for a tensor in coordinate format.
    public OwnedTensor indices(long tensor) {
        return callReturningTensor(
                "at::_indices", slot -> (MemorySegment) indices.invokeExact(slot, at(tensor)));
    }

    /// The values of a sparse tensor. Does not throw for a tensor in coordinate format.
    public OwnedTensor values(long tensor) {
        return callReturningTensor(
                "at::_values", slot -> (MemorySegment) values.invokeExact(slot, at(tensor)));
    }

    private OwnedTensor callReturningTensor(String name, TensorFunction function) {
        try (Arena arena = Arena.ofConfined()) {
            OwnedTensor tensor = newUndefined(arena);
            tensor.swap(call(name, () -> function.call(arena)));
            return tensor;
        }
    }

    /// Stores an undefined tensor in `slot`. A function on gradients returns it to keep the
    /// gradient.
    void setUndefined(MemorySegment slot) {
        slot.reinterpret(POINTER).set(JAVA_LONG, 0, undefined);
    }

    private OwnedTensor newUndefined(Arena arena) {
        MemorySegment result = arena.allocate(JAVA_LONG);
        check("aoti_torch_new_uninitialized_tensor", () -> (int) newTensor.invokeExact(result));
        return new OwnedTensor(result);
    }

    private interface TensorFunction {
        MemorySegment call(SegmentAllocator slot) throws Throwable;
    }

    /// A tensor that its holder frees by closing it.
    public final class OwnedTensor implements AutoCloseable {
        private final long address;

        /// @param result holds the address of a new tensor
        private OwnedTensor(MemorySegment result) {
            address = result.get(JAVA_LONG, 0);
        }

        public long address() {
            return address;
        }

        /// All bytes of its storage.
        public MemorySegment memory() {
            return TorchTensors.this.memory(
                    address, queryLong("aoti_torch_get_storage_size", storageSize, address));
        }

        /// Exchanges this tensor with the one in `slot`.
        void swap(MemorySegment slot) {
            MemorySegment tensor = at(address).reinterpret(POINTER);
            long own = tensor.get(JAVA_LONG, 0);
            MemorySegment other = slot.reinterpret(POINTER);
            tensor.set(JAVA_LONG, 0, other.get(JAVA_LONG, 0));
            other.set(JAVA_LONG, 0, own);
        }

        @Override
        public void close() {
            check(
                    "aoti_torch_delete_tensor_object",
                    () -> (int) deleteTensor.invokeExact(at(address)));
        }
    }
}
