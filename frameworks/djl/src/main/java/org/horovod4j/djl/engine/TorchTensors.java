package org.horovod4j.djl.engine;

import static org.horovod4j.djl.engine.LibTorch.POINTER;
import static org.horovod4j.djl.engine.LibTorch.at;
import static org.horovod4j.djl.engine.LibTorch.check;
import static org.horovod4j.djl.engine.LibTorch.run;

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

/// The tensors of libtorch: where their elements lie, and copies of them.
///
/// An `at::Tensor` is one pointer to what is counted; an undefined tensor points at one that is
/// not.
@SuppressWarnings("restricted") // tensors are found by their addresses
final class TorchTensors {
    /// What a function that returns an `at::Tensor` is said to return. A tensor has a destructor,
    /// so C++ returns it through memory of the caller's, however small it is; to the linker, only
    /// something larger than two registers is returned so.
    private static final StructLayout RETURNED_TENSOR =
            MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG, JAVA_LONG);

    /// libtorch's number for the device of the host's memory.
    private static final int HOST = 0;

    private static final int BLOCKING = 0;

    private final Autograd autograd;

    private final MethodHandle dataPointer;
    private final MethodHandle dimensions;
    private final MethodHandle sizes;
    private final MethodHandle strides;
    private final MethodHandle elementType;
    private final MethodHandle storageSize;
    private final MethodHandle tensorFromMemory;
    private final MethodHandle setStorage;
    private final MethodHandle emptyTensor;
    private final MethodHandle copy;
    private final MethodHandle newTensor;
    private final MethodHandle deleteTensor;
    private final MethodHandle indices;
    private final MethodHandle values;

    /// The pointer that an undefined tensor consists of; nobody counts those.
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

    /// The bytes of a dense tensor in the memory of the host.
    MemorySegment memory(long tensor, long byteSize) {
        return queryPointer("aoti_torch_get_data_ptr", dataPointer, tensor).reinterpret(byteSize);
    }

    /// Whether the elements of a dense tensor lie side by side in row-major order.
    boolean isRowMajor(long tensor) {
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
    long[] sizes(long tensor) {
        long count = queryLong("aoti_torch_get_dim", dimensions, tensor);
        return queryPointer("aoti_torch_get_sizes", sizes, tensor)
                .reinterpret(count * Long.BYTES)
                .toArray(JAVA_LONG);
    }

    /// Lets a dense tensor of the host have its elements in `memory`, in row-major order.
    void setMemory(long tensor, MemorySegment memory) {
        long[] sizes = sizes(tensor);
        int type = elementType(tensor);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sizesAt = arena.allocateFrom(JAVA_LONG, sizes);
            MemorySegment stridesAt = arena.allocateFrom(JAVA_LONG, rowMajorStrides(sizes));
            MemorySegment result = arena.allocate(JAVA_LONG);
            check(
                    "aoti_torch_create_tensor_from_blob",
                    () ->
                            (int)
                                    tensorFromMemory.invokeExact(
                                            memory,
                                            (long) sizes.length,
                                            sizesAt,
                                            stridesAt,
                                            0L,
                                            type,
                                            HOST,
                                            0,
                                            result));
            try (OwnedTensor there = new OwnedTensor(result)) {
                // unrecorded, or a parameter would refuse: autograd must not hear of it
                autograd.withGradMode(
                        false,
                        () ->
                                check(
                                        "aoti_torch_cpu_set__source_Tensor",
                                        () ->
                                                (int)
                                                        setStorage.invokeExact(
                                                                at(tensor), at(there.address()))));
            }
        }
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

    /// A copy in row-major order, in the memory of the host.
    ///
    /// @throws IllegalStateException when libtorch cannot make one, as for want of memory
    OwnedTensor cloneRowMajor(long tensor) {
        OwnedTensor clone = newRowMajor(tensor);
        try {
            autograd.withGradMode(
                    false,
                    () ->
                            check(
                                    "aoti_torch_copy_",
                                    () ->
                                            (int)
                                                    copy.invokeExact(
                                                            at(clone.address()),
                                                            at(tensor),
                                                            BLOCKING)));
            return clone;
        } catch (RuntimeException | Error e) {
            clone.close();
            throw e;
        }
    }

    /// A tensor of the same shape and type, in row-major order, in the memory of the host. Its
    /// elements are whatever was there.
    ///
    /// @throws IllegalStateException when libtorch cannot make one, as for want of memory
    OwnedTensor newRowMajor(long like) {
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
                                            HOST,
                                            0,
                                            result));
            return new OwnedTensor(result);
        }
    }

    /// Which elements of a sparse tensor are given. Does not throw for one in coordinate format.
    OwnedTensor indices(long tensor) {
        return callReturningTensor(
                "at::_indices", slot -> (MemorySegment) indices.invokeExact(slot, at(tensor)));
    }

    /// The elements that are given. Does not throw for a sparse tensor in coordinate format.
    OwnedTensor values(long tensor) {
        return callReturningTensor(
                "at::_values", slot -> (MemorySegment) values.invokeExact(slot, at(tensor)));
    }

    private OwnedTensor callReturningTensor(String name, TensorFunction function) {
        try (Arena arena = Arena.ofConfined()) {
            OwnedTensor tensor = newUndefined(arena);
            tensor.swap(run(name, () -> function.call(arena)));
            return tensor;
        }
    }

    /// Makes a tensor of nothing in `slot`, over whatever is there. A function on gradients returns
    /// it to say that it changes nothing.
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

    /// A tensor that is ours to free.
    final class OwnedTensor implements AutoCloseable {
        private final long address;

        /// @param result where a function has put the address of a tensor for us
        private OwnedTensor(MemorySegment result) {
            address = result.get(JAVA_LONG, 0);
        }

        long address() {
            return address;
        }

        /// All that was allocated for it.
        MemorySegment memory() {
            return TorchTensors.this.memory(
                    address, queryLong("aoti_torch_get_storage_size", storageSize, address));
        }

        /// Lets the tensor go to `slot`, which then owns it, in exchange for what was there.
        void swap(MemorySegment slot) {
            MemorySegment tensor = at(address).reinterpret(POINTER);
            long mine = tensor.get(JAVA_LONG, 0);
            MemorySegment other = slot.reinterpret(POINTER);
            tensor.set(JAVA_LONG, 0, other.get(JAVA_LONG, 0));
            other.set(JAVA_LONG, 0, mine);
        }

        @Override
        public void close() {
            check(
                    "aoti_torch_delete_tensor_object",
                    () -> (int) deleteTensor.invokeExact(at(address)));
        }
    }
}
