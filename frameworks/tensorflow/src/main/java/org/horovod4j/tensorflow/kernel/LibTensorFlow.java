package org.horovod4j.tensorflow.kernel;

import static org.horovod4j.natives.NativeLibrary.call;
import static org.horovod4j.natives.NativeLibrary.execute;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.natives.NativeLibrary;
import org.tensorflow.TensorFlow;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/// The functions of TensorFlow's C API. TensorFlow Java has no methods for them, but loads the
/// library that has them.
@SuppressWarnings("restricted") // native calls are the purpose of this file
final class LibTensorFlow {
    /// The name that the library was built with: the dynamic linker finds the loaded copy by it.
    static final String NAME = "libtensorflow_framework.so.2";

    /// The code of a failed step, as in gRPC.
    static final int INTERNAL = 13;

    private static final int OK = 0;
    private static final int MAX_MESSAGE = 1 << 20;

    private final NativeLibrary library;
    private final MethodHandle newStatus;
    private final MethodHandle deleteStatus;
    private final MethodHandle setStatus;
    private final MethodHandle code;
    private final MethodHandle message;

    /// @throws UnsupportedOperationException when the library or one of its functions is missing
    LibTensorFlow() {
        String version = TensorFlow.version(); // loads the library
        try {
            library = NativeLibrary.open(NAME);
        } catch (UnsupportedOperationException e) {
            throw new UnsupportedOperationException(
                    "%s, which has TensorFlow %s".formatted(e.getMessage(), version), e);
        }
        newStatus = function("TF_NewStatus", FunctionDescriptor.of(ADDRESS));
        deleteStatus = function("TF_DeleteStatus", FunctionDescriptor.ofVoid(ADDRESS));
        setStatus = function("TF_SetStatus", FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT, ADDRESS));
        code = function("TF_GetCode", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        message = function("TF_Message", FunctionDescriptor.of(ADDRESS, ADDRESS));
    }

    /// @throws UnsupportedOperationException when the library does not have it
    MethodHandle function(String name, FunctionDescriptor descriptor) {
        return library.function(name, descriptor);
    }

    /// The address of a function that TensorFlow can call. It must not throw. It is never freed.
    ///
    /// @param type an interface with one method, `called`
    static <T> MemorySegment callback(Class<T> type, T callback, FunctionDescriptor descriptor) {
        return NativeLibrary.callback(MethodHandles.lookup(), type, callback, descriptor);
    }

    /// Calls a function that reports its outcome in a status.
    ///
    /// @throws IllegalStateException with TensorFlow's message, when the function fails
    <T> T check(String name, StatusCall<T> call) {
        MemorySegment status = call("TF_NewStatus", () -> (MemorySegment) newStatus.invokeExact());
        try {
            T result = call(name, () -> call.run(status));
            check(name, status);
            return result;
        } finally {
            deleteStatus(status);
        }
    }

    private void check(String name, MemorySegment status) {
        if (call("TF_GetCode", () -> (int) code.invokeExact(status)) != OK) {
            MemorySegment text =
                    call("TF_Message", () -> (MemorySegment) message.invokeExact(status));
            throw new IllegalStateException(
                    "%s failed: %s".formatted(name, text.reinterpret(MAX_MESSAGE).getString(0)));
        }
    }

    /// Calls a function with a status that reports a failure.
    void withFailure(String text, StatusCall<Boolean> call) {
        MemorySegment status = call("TF_NewStatus", () -> (MemorySegment) newStatus.invokeExact());
        try {
            fail(status, text);
            call("a function that takes a failure", () -> call.run(status));
        } finally {
            deleteStatus(status);
        }
    }

    /// Reports a failure in a status.
    void fail(MemorySegment status, String text) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocateFrom(text, UTF_8);
            execute(
                    "TF_SetStatus",
                    () -> {
                        setStatus.invokeExact(status, INTERNAL, bytes);
                    });
        }
    }

    private void deleteStatus(MemorySegment status) {
        execute(
                "TF_DeleteStatus",
                () -> {
                    deleteStatus.invokeExact(status);
                });
    }

    interface StatusCall<T> {
        T run(MemorySegment status) throws Throwable;
    }
}
