package org.horovod4j.djl.engine;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/// The functions of MXNet's C interface that are needed here. Each returns 0, or another value after
/// which `MXGetLastError` has the message.
@SuppressWarnings("restricted") // native calls are the purpose of this file
final class LibMxNet {
    private static final String LIBRARY = "libmxnet.so";
    private static final long MAX_MESSAGE_BYTES = 1 << 16;

    private final SymbolLookup symbols;
    private final MethodHandle waitToRead;
    private final MethodHandle waitToWrite;
    private final MethodHandle getData;
    private final MethodHandle getLastError;

    /// Finds the library that the engine has loaded, by the name that it was built with.
    ///
    /// @throws UnsupportedOperationException when the library is not loaded or lacks a function
    static LibMxNet find() {
        try {
            return new LibMxNet(SymbolLookup.libraryLookup(LIBRARY, Arena.global()));
        } catch (IllegalArgumentException e) {
            throw new UnsupportedOperationException(
                    "%s is not loaded in this process".formatted(LIBRARY), e);
        }
    }

    private LibMxNet(SymbolLookup symbols) {
        this.symbols = symbols;
        waitToRead = function("MXNDArrayWaitToRead", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        waitToWrite = function("MXNDArrayWaitToWrite", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        getData = function("MXNDArrayGetData", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
        getLastError = function("MXGetLastError", FunctionDescriptor.of(ADDRESS));
    }

    private MethodHandle function(String name, FunctionDescriptor descriptor) {
        MemorySegment address =
                symbols.find(name)
                        .orElseThrow(
                                () ->
                                        new UnsupportedOperationException(
                                                "%s does not have the function %s"
                                                        .formatted(LIBRARY, name)));
        return Linker.nativeLinker().downcallHandle(address, descriptor);
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

    private void check(String name, Call call) {
        try {
            if (call.run() != 0) {
                MemorySegment reason = (MemorySegment) getLastError.invokeExact();
                throw new IllegalStateException(
                        "%s of MXNet failed: %s"
                                .formatted(
                                        name, reason.reinterpret(MAX_MESSAGE_BYTES).getString(0)));
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("%s of MXNet cannot be called".formatted(name), e);
        }
    }

    private interface Call {
        int run() throws Throwable;
    }
}
