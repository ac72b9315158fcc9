package org.horovod4j.djl.engine;

import static org.horovod4j.djl.engine.LibTorch.POINTER;
import static org.horovod4j.djl.engine.LibTorch.at;
import static org.horovod4j.djl.engine.LibTorch.run;

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

/// Functions that libtorch passes a gradient through: objects of C++, made here.
///
/// A `std::function` is 16 bytes of ours, of which a number takes eight; a pointer to its manager,
/// which copies and destroys it; and a pointer to its invoker.
@SuppressWarnings("restricted") // objects are found by their addresses
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

    /// What a function does. Processors other than x86-64 pass `result` in another way.
    interface Invoker {
        /// Returns `result`, where it has put a tensor.
        MemorySegment called(MemorySegment result, MemorySegment function, MemorySegment gradient);
    }

    /// What is called to copy or destroy a function.
    private interface Manager {
        /// Returns false.
        @SuppressWarnings("UnusedMethod") // called through its handle
        boolean called(MemorySegment to, MemorySegment from, int operation);
    }

    static MemorySegment invoker(Invoker invoker) {
        return LibTorch.callback(
                Invoker.class, invoker, FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /// @param copied called with the number of a function that was copied
    /// @param destroyed called with the number of one that was destroyed
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

    /// Lets the gradient of a tensor pass through a function with this number. Does not throw for a
    /// tensor that requires a gradient.
    ///
    /// @param manager from [#manager], which hears of each copy of the function and of its end
    /// @param invoker from [#invoker]
    void install(long tensor, long id, MemorySegment manager, MemorySegment invoker) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment function = arena.allocate(FUNCTION);
            function.setAtIndex(JAVA_LONG, 0, id);
            function.setAtIndex(ADDRESS, MANAGER, manager);
            function.setAtIndex(ADDRESS, INVOKER, invoker);
            run("_register_hook", () -> (int) registerHook.invokeExact(at(tensor), function));
        }
    }

    /// The number that a function was made with.
    static long id(MemorySegment function) {
        return function.reinterpret(Long.BYTES).get(JAVA_LONG, 0);
    }
}
