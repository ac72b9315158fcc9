package org.horovod4j.libtorch;

import static org.horovod4j.libtorch.LibTorch.at;
import static org.horovod4j.natives.NativeLibrary.call;
import static org.horovod4j.natives.NativeLibrary.execute;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/// Creates the C++ objects of hooks that libtorch calls after it has accumulated a gradient.
///
/// | object                   | bytes                                                          |
/// |--------------------------|----------------------------------------------------------------|
/// | `PostAccumulateGradHook` | pointer to a vtable, then our id                               |
/// | its vtable               | two destructors, the call, two slots of libtorch's compiler    |
@SuppressWarnings("restricted") // objects are given by address
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

    /// The call of a hook.
    interface Callback {
        void called(MemorySegment hook, MemorySegment parameter);
    }

    /// The vtable of hooks that call `callback`. It is never freed, since libtorch decides how long
    /// a hook lives. The destructors are `free`. libtorch's graph compiler uses the slots after the
    /// call; it does not run here.
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

    /// Sets the hook of a tensor. libtorch owns the hook from then on. Does not throw for a tensor
    /// that requires a gradient.
    void install(long tensor, MemorySegment vtable, long id) {
        MemorySegment hook = newHook(vtable, id);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment uniquePointer = arena.allocateFrom(ADDRESS, hook);
            execute(
                    "set_post_acc_grad_hooks",
                    () -> {
                        setHook.invokeExact(at(tensor), uniquePointer);
                    });
        }
    }

    /// A hook allocated by malloc; its destructor frees it.
    private MemorySegment newHook(MemorySegment vtable, long id) {
        MemorySegment hook =
                call("malloc", () -> (MemorySegment) malloc.invokeExact(HOOK.byteSize()))
                        .reinterpret(HOOK.byteSize());
        if (hook.address() == 0) {
            throw new OutOfMemoryError(
                    "allocating a hook of %d bytes for libtorch".formatted(HOOK.byteSize()));
        }
        hook.setAtIndex(ADDRESS, 0, vtable);
        hook.setAtIndex(JAVA_LONG, 1, id);
        return hook;
    }

    /// The id of a hook.
    static long id(MemorySegment hook) {
        return hook.reinterpret(HOOK.byteSize()).getAtIndex(JAVA_LONG, 1);
    }
}
