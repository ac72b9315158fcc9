package org.horovod4j.libtorch;

import static org.horovod4j.libtorch.LibTorch.POINTER;
import static org.horovod4j.libtorch.LibTorch.at;
import static org.horovod4j.natives.NativeLibrary.call;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.util.function.LongConsumer;

/// Creates the C++ objects of functions that libtorch passes a gradient through.
///
/// A `std::function` has 16 bytes for its state, here an id in the first eight; a pointer to its
/// manager, which copies and destroys it; and a pointer to its invoker.
@SuppressWarnings("restricted") // objects are given by address
final class FunctionObjects {
    private static final StructLayout FUNCTION =
            MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);

    private static final int MANAGER = 2;
    private static final int INVOKER = 3;

    private static final int TYPE = 0;
    private static final int POINTER_TO = 1;
    private static final int COPY = 2;
    private static final int DESTROY = 3;

    private final MethodHandle registerHook;
    private final MemorySegment typeOfVoid;

    /// @throws UnsupportedOperationException when the library lacks a function
    FunctionObjects(LibTorch library) {
        registerHook =
                library.function(
                        "_ZNK2at10TensorBase14_register_hookESt8functionIFS0_RKS0_EE",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
        typeOfVoid = library.symbol("_ZTIv");
    }

    /// The call of a function. The order of the parameters is that of x86-64.
    interface Invoker {
        /// Stores a tensor in `result` and returns `result`.
        MemorySegment called(MemorySegment result, MemorySegment function, MemorySegment gradient);
    }

    /// Copies or destroys a function.
    private interface Manager {
        /// Returns false.
        @SuppressWarnings("UnusedMethod") // called through its handle
        boolean called(MemorySegment to, MemorySegment from, int operation);
    }

    static MemorySegment invoker(Invoker invoker) {
        return LibTorch.callback(
                Invoker.class, invoker, FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /// @param copied called with the id of a function that was copied
    /// @param destroyed called with the id of a function that was destroyed
    MemorySegment manager(LongConsumer copied, LongConsumer destroyed) {
        return LibTorch.callback(
                Manager.class,
                (to, from, operation) -> manage(to, from, operation, copied, destroyed),
                FunctionDescriptor.of(JAVA_BOOLEAN, ADDRESS, ADDRESS, JAVA_INT));
    }

    private boolean manage(
            MemorySegment to,
            MemorySegment from,
            int operation,
            LongConsumer copied,
            LongConsumer destroyed) {
        switch (operation) {
            case TYPE -> to.reinterpret(POINTER).set(ADDRESS, 0, typeOfVoid);
            case POINTER_TO -> to.reinterpret(POINTER).set(ADDRESS, 0, from);
            case COPY -> {
                to.reinterpret(Long.BYTES).set(JAVA_LONG, 0, id(from));
                copied.accept(id(from));
            }
            case DESTROY -> destroyed.accept(id(to));
            default -> {} // libstdc++ has no others
        }
        return false;
    }

    /// Passes the gradient of a tensor through a function with this id. Does not throw for a tensor
    /// that requires a gradient.
    ///
    /// @param manager from [#manager], called for each copy and destruction of the function
    /// @param invoker from [#invoker]
    void install(long tensor, long id, MemorySegment manager, MemorySegment invoker) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment function = arena.allocate(FUNCTION);
            function.setAtIndex(JAVA_LONG, 0, id);
            function.setAtIndex(ADDRESS, MANAGER, manager);
            function.setAtIndex(ADDRESS, INVOKER, invoker);
            call("_register_hook", () -> (int) registerHook.invokeExact(at(tensor), function));
        }
    }

    /// The id of a function.
    static long id(MemorySegment function) {
        return function.reinterpret(Long.BYTES).get(JAVA_LONG, 0);
    }
}
