package org.horovod4j.djl.engine;

import static org.horovod4j.djl.engine.LibTorch.at;
import static org.horovod4j.djl.engine.LibTorch.run;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/// Hooks that libtorch calls after it has added to a gradient: its C++ objects, made here.
///
/// | object                   | bytes                                                          |
/// |--------------------------|----------------------------------------------------------------|
/// | `PostAccumulateGradHook` | pointer to a vtable, then what is ours: a number               |
/// | its vtable               | two destructors, the call, two more that only a compiler calls |
@SuppressWarnings("restricted") // objects are found by their addresses
final class HookObjects {
    private static final int VTABLE_SLOTS = 5;
    private static final int DESTRUCTORS = 2;

    private static final StructLayout HOOK = MemoryLayout.structLayout(ADDRESS, JAVA_LONG);

    private final MethodHandle setHook;
    private final MethodHandle malloc;
    private final MemorySegment free;

    /// @throws UnsupportedOperationException when the library lacks a function
    HookObjects(LibTorch library) {
        setHook =
                library.function(
                        "_ZN5torch8autograd4impl23set_post_acc_grad_hooksERKN2at10TensorBase"
                                + "ESt10unique_ptrINS0_22PostAccumulateGradHook"
                                + "ESt14default_deleteIS7_EE",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        malloc = library.function("malloc", FunctionDescriptor.of(ADDRESS, JAVA_LONG));
        free = library.symbol("free");
    }

    /// What a hook calls.
    interface Callback {
        void called(MemorySegment hook, MemorySegment parameter);
    }

    /// The vtable of hooks that call `callback`. It lives forever, as hooks may. A hook is
    /// destroyed by `free`; the slots after the call are for libtorch's compiler, which runs no
    /// Java program.
    MemorySegment newVtable(Callback callback) {
        MemorySegment call =
                LibTorch.callback(
                        Callback.class, callback, FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        MemorySegment vtable = Arena.global().allocate(ADDRESS, VTABLE_SLOTS);
        for (int slot = 0; slot < VTABLE_SLOTS; slot++) {
            vtable.setAtIndex(ADDRESS, slot, slot < DESTRUCTORS ? free : call);
        }
        return vtable;
    }

    /// Gives a tensor a hook with this number, which libtorch then owns. Does not throw for a
    /// tensor that requires a gradient.
    void install(long tensor, MemorySegment vtable, long id) {
        MemorySegment hook = newHook(vtable, id);
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

    /// A hook in memory of its own, which its destructor frees.
    private MemorySegment newHook(MemorySegment vtable, long id) {
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
    static long id(MemorySegment hook) {
        return hook.reinterpret(HOOK.byteSize()).getAtIndex(JAVA_LONG, 1);
    }
}
