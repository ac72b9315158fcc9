package org.horovod4j.tensorflow.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.natives.NativeLibrary;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/// The function that TensorFlow passes to an asynchronous kernel, and that ends its run.
///
/// The C API passes the address of a `std::function<void()>` in the frame of the caller. It is gone
/// when the kernel returns, so a run could not end later. This class moves the function out, as its
/// move constructor does: it takes the four words of the object (libstdc++: 16 bytes of state, the
/// manager, the invoker) and leaves an empty function.
@SuppressWarnings("restricted") // native calls are the purpose of this file
final class DoneCallback implements Runnable {
    private static final int MANAGER = 2;
    private static final int INVOKER = 3;
    private static final int WORDS = 4;

    /// The operation of the manager that destroys a function.
    private static final int DESTROY = 3;

    private final Functions functions;
    private final long[] words;

    private DoneCallback(Functions functions, long[] words) {
        this.functions = functions;
        this.words = words;
    }

    /// The native functions that call and destroy a callback.
    record Functions(MethodHandle call, MethodHandle manage) {
        static Functions of(LibTensorFlow library) {
            return new Functions(
                    library.function(
                            "TF_RunAsyncOpKernelDoneCallback", FunctionDescriptor.ofVoid(ADDRESS)),
                    NativeLibrary.functionAtAddress(
                            FunctionDescriptor.of(JAVA_BOOLEAN, ADDRESS, ADDRESS, JAVA_INT)));
        }
    }

    /// Whether the object can be a `std::function` of libstdc++: its manager and its invoker are
    /// functions of TensorFlow.
    static boolean hasKnownLayout(MemorySegment function, CodeRegions code) {
        MemorySegment object = function.reinterpret(WORDS * JAVA_LONG.byteSize());
        return code.contains(object.getAtIndex(JAVA_LONG, MANAGER))
                && code.contains(object.getAtIndex(JAVA_LONG, INVOKER));
    }

    /// Moves the function out of the frame of the caller.
    static DoneCallback take(Functions functions, MemorySegment function) {
        MemorySegment object = function.reinterpret(WORDS * JAVA_LONG.byteSize());
        long[] words = object.toArray(JAVA_LONG);
        object.fill((byte) 0);
        return new DoneCallback(functions, words);
    }

    /// Calls the function where TensorFlow has put it, before the kernel returns.
    static void callInPlace(Functions functions, MemorySegment function) {
        NativeLibrary.execute(
                "TF_RunAsyncOpKernelDoneCallback",
                () -> {
                    functions.call.invokeExact(function);
                });
    }

    /// Calls the function and destroys it.
    @Override
    public void run() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment function = arena.allocateFrom(JAVA_LONG, words);
            NativeLibrary.call(
                    "TF_RunAsyncOpKernelDoneCallback",
                    () -> {
                        functions.call.invokeExact(function);
                        return (boolean)
                                functions.manage.invokeExact(
                                        MemorySegment.ofAddress(words[MANAGER]),
                                        function,
                                        function,
                                        DESTROY);
                    });
        }
    }
}
