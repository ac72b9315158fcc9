package org.horovod4j.djl.engine;

import static org.horovod4j.natives.NativeLibrary.call;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.natives.NativeLibrary;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/// The functions of MXNet's C interface that are needed here. Each returns 0, or another value after
/// which `MXGetLastError` has the message.
@SuppressWarnings("restricted") // native calls are the purpose of this file
final class LibMxNet {
    private static final String LIBRARY = "libmxnet.so";
    private static final long MAX_MESSAGE_BYTES = 1 << 16;

    private final MethodHandle waitToRead;
    private final MethodHandle waitToWrite;
    private final MethodHandle getData;
    private final MethodHandle getLastError;

    /// Finds the library that the engine has loaded, by the name that it was built with.
    ///
    /// @throws UnsupportedOperationException when the library is not loaded or lacks a function
    static LibMxNet find() {
        return new LibMxNet(NativeLibrary.open(LIBRARY));
    }

    private LibMxNet(NativeLibrary library) {
        waitToRead =
                library.function("MXNDArrayWaitToRead", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        waitToWrite =
                library.function("MXNDArrayWaitToWrite", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        getData =
                library.function(
                        "MXNDArrayGetData", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
        getLastError = library.function("MXGetLastError", FunctionDescriptor.of(ADDRESS));
    }

    /// Waits until all writes to the array are done.
    void waitToRead(long array) {
        check("MXNDArrayWaitToRead", () -> (int) waitToRead.invokeExact(at(array)));
    }

    /// The bytes of a dense array in host memory, after all pending reads and writes are done.
    MemorySegment memory(long array, long byteSize) {
        check("MXNDArrayWaitToWrite", () -> (int) waitToWrite.invokeExact(at(array)));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment result = arena.allocate(JAVA_LONG);
            check("MXNDArrayGetData", () -> (int) getData.invokeExact(at(array), result));
            return at(result.get(JAVA_LONG, 0)).reinterpret(byteSize);
        }
    }

    private static MemorySegment at(long address) {
        return MemorySegment.ofAddress(address);
    }

    private void check(String name, NativeLibrary.Call<Integer> function) {
        if (call(name, function) != 0) {
            MemorySegment reason =
                    call("MXGetLastError", () -> (MemorySegment) getLastError.invokeExact());
            throw new IllegalStateException(
                    "%s of MXNet failed: %s"
                            .formatted(name, reason.reinterpret(MAX_MESSAGE_BYTES).getString(0)));
        }
    }
}
