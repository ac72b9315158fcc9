package org.horovod4j.djl.engine;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.function.LongConsumer;

/// The functions of libtorch that we call, and how its objects lie in memory: neither is known outside of
/// this file.
///
/// A tensor is named by the address of an `at::Tensor`, which is what DJL's handles are, and what the
/// functions `aoti_torch_…` take: a C interface that libtorch keeps stable. Functions with mangled names
/// are C++, whose objects are built here after the Itanium C++ ABI and libstdc++:
///
/// | object                    | bytes                                                                |
/// |---------------------------|----------------------------------------------------------------------|
/// | `at::Tensor`              | one pointer, counted; an undefined tensor points at one that is not  |
/// | `PostAccumulateGradHook`  | pointer to a vtable, then what is ours: a number                     |
/// | its vtable                | two destructors, the call, two more that only a compiler calls       |
/// | `std::function`           | 16 bytes of ours, pointer to its manager, pointer to its invoker     |
///
/// A C++ function that throws would end the JVM, so each says here when it does not.
@SuppressWarnings("restricted") // that is what this file is for
final class LibTorch {
    private static final String LIBRARY = "libtorch_cpu.so";

    private static final long POINTER = ADDRESS.byteSize();

    /// What a function that returns an `at::Tensor` is said to return. A tensor has a destructor, so C++
    /// returns it through memory of the caller's, however small it is; to the linker, only something larger
    /// than two registers is returned so.
    private static final StructLayout RETURNED_TENSOR =
            MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG, JAVA_LONG);

    private static final StructLayout ARRAY_REF = MemoryLayout.structLayout(ADDRESS, JAVA_LONG);

    /// `std::optional<MemoryFormat>`: the format, 0 for row-major order, and whether there is one.
    private static final int ROW_MAJOR = 0x01_00;

    private static final int NOTHING = 0;

    /// libtorch's number for the device of the host's memory.
    private static final int HOST = 0;

    private static final int VTABLE_SLOTS = 5;
    private static final int DESTRUCTORS = 2;

    private static final StructLayout HOOK = MemoryLayout.structLayout(ADDRESS, JAVA_LONG);

    private static final StructLayout FUNCTION =
            MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);

    private static final int FUNCTION_MANAGER = 2;
    private static final int FUNCTION_INVOKER = 3;

    private static final int MANAGER_TYPE = 0;
    private static final int MANAGER_ADDRESS = 1;
    private static final int MANAGER_COPY = 2;
    private static final int MANAGER_DESTROY = 3;

    private final SymbolLookup symbols;

    private final MethodHandle dataPointer;
    private final MethodHandle dimensions;
    private final MethodHandle sizes;
    private final MethodHandle strides;
    private final MethodHandle elementType;
    private final MethodHandle tensorFromMemory;
    private final MethodHandle setStorage;
    private final MethodHandle newTensor;
    private final MethodHandle deleteTensor;
    private final MethodHandle clone;
    private final MethodHandle indices;
    private final MethodHandle values;
    private final MethodHandle requiresGrad;
    private final MethodHandle setHook;
    private final MethodHandle registerHook;
    private final MethodHandle backward;
    private final MethodHandle isGradMode;
    private final MethodHandle setGradMode;
    private final MethodHandle malloc;
    private final MemorySegment free;
    private final MemorySegment typeOfVoid;

    /// The pointer that an undefined tensor consists of; nobody counts those.
    private final long undefined;

    /// Finds the library that the engine has loaded, by the name it was built with.
    ///
    /// @throws UnsupportedOperationException when it, or one of the functions, is not there
    static LibTorch find() {
        try {
            return new LibTorch(SymbolLookup.libraryLookup(LIBRARY, Arena.global()));
        } catch (IllegalArgumentException e) {
            throw new UnsupportedOperationException(
                    "%s is not loaded in this process".formatted(LIBRARY), e);
        }
    }

    private LibTorch(SymbolLookup symbols) {
        this.symbols = symbols;
        FunctionDescriptor binary = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);
        FunctionDescriptor unary = FunctionDescriptor.of(RETURNED_TENSOR, ADDRESS);
        dataPointer = query("aoti_torch_get_data_ptr", binary);
        dimensions = query("aoti_torch_get_dim", binary);
        sizes = query("aoti_torch_get_sizes", binary);
        strides = query("aoti_torch_get_strides", binary);
        elementType = query("aoti_torch_get_dtype", binary);
        tensorFromMemory =
                function(
                        "aoti_torch_create_tensor_from_blob",
                        FunctionDescriptor.of(
                                JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT,
                                JAVA_INT, JAVA_INT, ADDRESS));
        setStorage = function("aoti_torch_cpu_set__source_Tensor", binary);
        newTensor =
                function(
                        "aoti_torch_new_uninitialized_tensor",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS));
        deleteTensor =
                function(
                        "aoti_torch_delete_tensor_object",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS));
        clone =
                function(
                        "_ZN2at4_ops5clone4callERKNS_6TensorESt8optionalIN3c1012MemoryFormatEE",
                        FunctionDescriptor.of(RETURNED_TENSOR, ADDRESS, JAVA_INT));
        indices = function("_ZN2at4_ops8_indices4callERKNS_6TensorE", unary);
        values = function("_ZN2at4_ops7_values4callERKNS_6TensorE", unary);
        requiresGrad =
                function(
                        "_ZNK3c1010TensorImpl13requires_gradEv",
                        FunctionDescriptor.of(JAVA_BOOLEAN, ADDRESS));
        setHook =
                function(
                        "_ZN5torch8autograd4impl23set_post_acc_grad_hooksERKN2at10TensorBase"
                                + "ESt10unique_ptrINS0_22PostAccumulateGradHook"
                                + "ESt14default_deleteIS7_EE",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        registerHook =
                function(
                        "_ZNK2at10TensorBase14_register_hookESt8functionIFS0_RKS0_EE",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
        backward =
                function(
                        "_ZN2at4_ops9_backward4callERKNS_6TensorEN3c108ArrayRefIS2_EE"
                                + "RKSt8optionalIS2_ES8_IbEb",
                        FunctionDescriptor.ofVoid(
                                ADDRESS, ARRAY_REF, ADDRESS, JAVA_INT, JAVA_BOOLEAN));
        isGradMode =
                function("_ZN3c108GradMode10is_enabledEv", FunctionDescriptor.of(JAVA_BOOLEAN));
        setGradMode =
                function(
                        "_ZN3c108GradMode11set_enabledEb", FunctionDescriptor.ofVoid(JAVA_BOOLEAN));
        malloc = function("malloc", FunctionDescriptor.of(ADDRESS, JAVA_LONG));
        free = symbol("free");
        typeOfVoid = symbol("_ZTIv");
        try (Arena arena = Arena.ofConfined();
                OwnTensor tensor = newUndefined(arena)) {
            undefined = at(tensor.address()).reinterpret(POINTER).get(JAVA_LONG, 0);
        }
    }

    private MethodHandle function(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(symbol(name), descriptor);
    }

    /// A function that looks something up and returns at once, so the JVM need not prepare for more: it is
    /// called for every gradient of every step.
    private MethodHandle query(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker()
                .downcallHandle(symbol(name), descriptor, Linker.Option.critical(true));
    }

    private MemorySegment symbol(String name) {
        return symbols.find(name)
                .orElseThrow(
                        () ->
                                new UnsupportedOperationException(
                                        "%s does not have the function %s"
                                                .formatted(LIBRARY, name)));
    }

    /// The bytes of a dense tensor in the memory of the host.
    MemorySegment memory(long tensor, long byteSize) {
        return pointer("aoti_torch_get_data_ptr", dataPointer, tensor).reinterpret(byteSize);
    }

    /// Whether the elements of a dense tensor lie side by side in row-major order.
    boolean isRowMajor(long tensor) {
        long[] sizes = sizes(tensor);
        MemorySegment strides =
                pointer("aoti_torch_get_strides", this.strides, tensor)
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
        long count = number("aoti_torch_get_dim", dimensions, tensor);
        return pointer("aoti_torch_get_sizes", sizes, tensor)
                .reinterpret(count * Long.BYTES)
                .toArray(JAVA_LONG);
    }

    /// Lets a dense tensor of the host have its elements in `memory`, in row-major order.
    void setMemory(long tensor, MemorySegment memory) {
        long[] sizes = sizes(tensor);
        long[] strides = new long[sizes.length];
        long stride = 1;
        for (int i = sizes.length - 1; i >= 0; i--) {
            strides[i] = stride;
            stride *= Math.max(1, sizes[i]);
        }
        int type = (int) number("aoti_torch_get_dtype", elementType, tensor);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sizesAt = arena.allocateFrom(JAVA_LONG, sizes);
            MemorySegment stridesAt = arena.allocateFrom(JAVA_LONG, strides);
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
            try (OwnTensor there = new OwnTensor(result)) {
                // unrecorded, or a parameter would refuse: autograd must not hear of it
                withGradMode(
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

    private MemorySegment pointer(String name, MethodHandle query, long tensor) {
        return MemorySegment.ofAddress(number(name, query, tensor));
    }

    private long number(String name, MethodHandle query, long tensor) {
        long[] result = new long[1];
        MemorySegment slot = MemorySegment.ofArray(result);
        check(name, () -> (int) query.invokeExact(at(tensor), slot));
        return result[0];
    }

    /// A copy in row-major order. Does not throw for a dense tensor.
    OwnTensor cloneRowMajor(long tensor) {
        return own(
                "at::clone",
                slot -> (MemorySegment) clone.invokeExact(slot, at(tensor), ROW_MAJOR));
    }

    /// Which elements of a sparse tensor are given. Does not throw for one in coordinate format.
    OwnTensor indices(long tensor) {
        return own("at::_indices", slot -> (MemorySegment) indices.invokeExact(slot, at(tensor)));
    }

    /// The elements that are given. Does not throw for a sparse tensor in coordinate format.
    OwnTensor values(long tensor) {
        return own("at::_values", slot -> (MemorySegment) values.invokeExact(slot, at(tensor)));
    }

    private OwnTensor own(String name, Returning function) {
        try (Arena arena = Arena.ofConfined()) {
            OwnTensor tensor = newUndefined(arena);
            tensor.swap(run(name, () -> function.call(arena)));
            return tensor;
        }
    }

    /// Makes a tensor of nothing in `slot`, over whatever is there. A function on gradients returns it to say
    /// that it changes nothing.
    void setUndefined(MemorySegment slot) {
        slot.reinterpret(POINTER).set(JAVA_LONG, 0, undefined);
    }

    private OwnTensor newUndefined(Arena arena) {
        MemorySegment result = arena.allocate(JAVA_LONG);
        check("aoti_torch_new_uninitialized_tensor", () -> (int) newTensor.invokeExact(result));
        return new OwnTensor(result);
    }

    /// Whether backward comes by a tensor, be it a parameter or computed from one.
    boolean requiresGrad(long tensor) {
        MemorySegment implementation = at(tensor).reinterpret(POINTER).get(ADDRESS, 0);
        return run(
                "TensorImpl::requires_grad",
                () -> (boolean) requiresGrad.invokeExact(implementation));
    }

    /// Installs a hook that [#newHook] has made, which libtorch then owns. Does not throw for a tensor that
    /// requires a gradient.
    void setAccumulationHook(long tensor, MemorySegment hook) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment uniquePointer = arena.allocateFrom(ADDRESS, hook);
            run(
                    "set_post_acc_grad_hooks",
                    () -> {
                        setHook.invokeExact(at(tensor), uniquePointer);
                        return true;
                    });
        }
    }

    /// What a hook calls.
    interface HookCallback {
        void called(MemorySegment hook, MemorySegment parameter);
    }

    /// What a function on gradients calls. Processors other than x86-64 pass `result` in another way.
    interface FunctionCallback {
        /// Returns `result`, where it has put a tensor.
        MemorySegment called(MemorySegment result, MemorySegment function, MemorySegment gradient);
    }

    /// What is called to copy or destroy a function on gradients.
    interface ManagerCallback {
        /// Returns false.
        boolean called(MemorySegment to, MemorySegment from, int operation);
    }

    static MemorySegment hookAddress(HookCallback callback) {
        return address(HookCallback.class, callback, FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
    }

    static MemorySegment functionAddress(FunctionCallback callback) {
        return address(
                FunctionCallback.class,
                callback,
                FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    static MemorySegment managerAddress(ManagerCallback callback) {
        return address(
                ManagerCallback.class,
                callback,
                FunctionDescriptor.of(JAVA_BOOLEAN, ADDRESS, ADDRESS, JAVA_INT));
    }

    /// The address of a function that libtorch may call, and that must not throw. It lives forever.
    private static <T> MemorySegment address(
            Class<T> type, T callback, FunctionDescriptor descriptor) {
        try {
            MethodHandle method =
                    MethodHandles.lookup().findVirtual(type, "called", descriptor.toMethodType());
            return Linker.nativeLinker()
                    .upcallStub(method.bindTo(callback), descriptor, Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "libtorch cannot call a %s".formatted(type.getSimpleName()), e);
        }
    }

    /// The vtable of hooks that call the [HookCallback] at this address. It lives forever, as hooks may. A
    /// hook is destroyed by `free`; the slots after the call are for libtorch's compiler, which runs no
    /// Java program.
    MemorySegment newVtable(MemorySegment call) {
        MemorySegment vtable = Arena.global().allocate(ADDRESS, VTABLE_SLOTS);
        for (int slot = 0; slot < VTABLE_SLOTS; slot++) {
            vtable.setAtIndex(ADDRESS, slot, slot < DESTRUCTORS ? free : call);
        }
        return vtable;
    }

    /// A hook in memory of its own, which its destructor frees.
    MemorySegment newHook(MemorySegment vtable, long id) {
        MemorySegment hook =
                run("malloc", () -> (MemorySegment) malloc.invokeExact(HOOK.byteSize()))
                        .reinterpret(HOOK.byteSize());
        if (hook.address() == 0) {
            throw new OutOfMemoryError("libtorch's hook of %d bytes".formatted(HOOK.byteSize()));
        }
        hook.setAtIndex(ADDRESS, 0, vtable);
        hook.setAtIndex(JAVA_LONG, 1, id);
        return hook;
    }

    /// The number that a hook was made with.
    static long hookId(MemorySegment hook) {
        return hook.reinterpret(HOOK.byteSize()).getAtIndex(JAVA_LONG, 1);
    }

    /// Adds a function that changes the gradient of a tensor. Does not throw for a tensor that requires a
    /// gradient.
    ///
    /// @param manager address of a [ManagerCallback], which hears of each copy of the function and of its end
    /// @param invoker address of a [FunctionCallback]
    void addGradientFunction(long tensor, long id, MemorySegment manager, MemorySegment invoker) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment function = arena.allocate(FUNCTION);
            function.setAtIndex(JAVA_LONG, 0, id);
            function.setAtIndex(ADDRESS, FUNCTION_MANAGER, manager);
            function.setAtIndex(ADDRESS, FUNCTION_INVOKER, invoker);
            run("_register_hook", () -> (int) registerHook.invokeExact(at(tensor), function));
        }
    }

    /// The number that a function was made with.
    static long functionId(MemorySegment function) {
        return function.reinterpret(Long.BYTES).get(JAVA_LONG, 0);
    }

    /// What a [ManagerCallback] does.
    ///
    /// @param copied called with the number of a function that was copied
    /// @param destroyed called with the number of one that was destroyed
    void manage(
            MemorySegment to,
            MemorySegment from,
            int operation,
            LongConsumer copied,
            LongConsumer destroyed) {
        switch (operation) {
            case MANAGER_TYPE -> to.reinterpret(POINTER).set(ADDRESS, 0, typeOfVoid);
            case MANAGER_ADDRESS -> to.reinterpret(POINTER).set(ADDRESS, 0, from);
            case MANAGER_COPY -> {
                to.reinterpret(Long.BYTES).set(JAVA_LONG, 0, functionId(from));
                copied.accept(functionId(from));
            }
            case MANAGER_DESTROY -> destroyed.accept(functionId(to));
            default -> {} // libstdc++ has no others
        }
    }

    /// Backward from a tensor of one element, with gradients for all that lead to it. Throws unless it
    /// requires one.
    void backward(long tensor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment noInputs = arena.allocate(ARRAY_REF);
            MemorySegment noGradient = arena.allocate(2 * POINTER, POINTER);
            run(
                    "at::_backward",
                    () -> {
                        backward.invokeExact(at(tensor), noInputs, noGradient, NOTHING, false);
                        return true;
                    });
        }
    }

    /// Runs `action` on this thread with gradients recorded, or not.
    void withGradMode(boolean recorded, Runnable action) {
        boolean before = run("GradMode::is_enabled", () -> (boolean) isGradMode.invokeExact());
        setGradMode(recorded);
        try {
            action.run();
        } finally {
            setGradMode(before);
        }
    }

    private void setGradMode(boolean recorded) {
        run(
                "GradMode::set_enabled",
                () -> {
                    setGradMode.invokeExact(recorded);
                    return true;
                });
    }

    private static MemorySegment at(long tensor) {
        return MemorySegment.ofAddress(tensor);
    }

    private void check(String name, Call<Integer> call) {
        int error = run(name, call);
        if (error != 0) {
            throw new IllegalStateException(
                    "%s of libtorch failed with error %d; it has said why on standard error"
                            .formatted(name, error));
        }
    }

    private static <T> T run(String name, Call<T> call) {
        try {
            return call.run();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("%s of libtorch cannot be called".formatted(name), e);
        }
    }

    private interface Call<T> {
        T run() throws Throwable;
    }

    private interface Returning {
        MemorySegment call(SegmentAllocator slot) throws Throwable;
    }

    /// A tensor that is ours to free.
    final class OwnTensor implements AutoCloseable {
        private final long address;

        /// @param result where a function has put the address of a tensor for us
        private OwnTensor(MemorySegment result) {
            address = result.get(JAVA_LONG, 0);
        }

        long address() {
            return address;
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
