package org.horovod4j.libtorch;

import static org.horovod4j.libtorch.LibTorch.POINTER;
import static org.horovod4j.libtorch.LibTorch.at;
import static org.horovod4j.natives.NativeLibrary.call;
import static org.horovod4j.natives.NativeLibrary.execute;

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

/// Recording of computations in libtorch, and backward through them.
@SuppressWarnings("restricted") // tensors are given by address
public final class Autograd {
    private static final StructLayout ARRAY_REF = MemoryLayout.structLayout(ADDRESS, JAVA_LONG);

    /// An empty `std::optional<bool>`.
    private static final int EMPTY_OPTIONAL = 0;

    private final MethodHandle requiresGrad;
    private final MethodHandle backward;
    private final MethodHandle isGradMode;
    private final MethodHandle setGradMode;

    /// @throws UnsupportedOperationException when the library lacks a function
    Autograd(LibTorch library) {
        requiresGrad =
                library.function(
                        "_ZNK3c1010TensorImpl13requires_gradEv",
                        FunctionDescriptor.of(JAVA_BOOLEAN, ADDRESS));
        backward =
                library.function(
                        "_ZN2at4_ops9_backward4callERKNS_6TensorEN3c108ArrayRefIS2_EE"
                                + "RKSt8optionalIS2_ES8_IbEb",
                        FunctionDescriptor.ofVoid(
                                ADDRESS, ARRAY_REF, ADDRESS, JAVA_INT, JAVA_BOOLEAN));
        isGradMode =
                library.function(
                        "_ZN3c108GradMode10is_enabledEv", FunctionDescriptor.of(JAVA_BOOLEAN));
        setGradMode =
                library.function(
                        "_ZN3c108GradMode11set_enabledEb", FunctionDescriptor.ofVoid(JAVA_BOOLEAN));
    }

    /// Whether backward computes a gradient for a tensor: a parameter, or a result computed from
    /// one.
    public boolean requiresGrad(long tensor) {
        MemorySegment implementation = at(tensor).reinterpret(POINTER).get(ADDRESS, 0);
        return call(
                "TensorImpl::requires_grad",
                () -> (boolean) requiresGrad.invokeExact(implementation));
    }

    /// Runs backward from a tensor of one element. The tensor must require a gradient: libtorch
    /// throws otherwise.
    public void backward(long tensor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment noInputs = arena.allocate(ARRAY_REF);
            MemorySegment noGradient = arena.allocate(2 * POINTER, POINTER);
            execute(
                    "at::_backward",
                    () -> {
                        backward.invokeExact(
                                at(tensor), noInputs, noGradient, EMPTY_OPTIONAL, false);
                    });
        }
    }

    /// Runs `action` on this thread with recording switched on or off.
    public void withGradMode(boolean recorded, Runnable action) {
        boolean before = call("GradMode::is_enabled", () -> (boolean) isGradMode.invokeExact());
        setGradMode(recorded);
        try {
            action.run();
        } finally {
            setGradMode(before);
        }
    }

    private void setGradMode(boolean recorded) {
        execute(
                "GradMode::set_enabled",
                () -> {
                    setGradMode.invokeExact(recorded);
                });
    }
}
