package org.horovod4j.djl.engine;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/// The libtorch of this process: finds its functions, calls them, and lets it call ours.
///
/// A tensor is named by the address of an `at::Tensor`, which is what DJL's handles are, and what
/// the functions `aoti_torch_…` take: a C interface that libtorch keeps stable, and that tells of
/// errors by a number. Functions with mangled names are C++, after the Itanium C++ ABI and
/// libstdc++. One of those that throws would end the JVM, so whoever calls one says when it does
/// not.
@SuppressWarnings("restricted") // that is what this file is for
final class LibTorch {
    private static final String LIBRARY = "libtorch_cpu.so";

    static final long POINTER = ADDRESS.byteSize();

    private final SymbolLookup symbols;

    private LibTorch(SymbolLookup symbols) {
        this.symbols = symbols;
    }

    /// Finds the library that the engine has loaded, by the name it was built with.
    ///
    /// @throws UnsupportedOperationException when it is not there
    static LibTorch find() {
        try {
            return new LibTorch(SymbolLookup.libraryLookup(LIBRARY, Arena.global()));
        } catch (IllegalArgumentException e) {
            throw new UnsupportedOperationException(
                    "%s is not loaded in this process".formatted(LIBRARY), e);
        }
    }

    /// @throws UnsupportedOperationException when the library does not have it
    MethodHandle function(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(symbol(name), descriptor);
    }

    /// A function that looks something up and returns at once, so the JVM need not prepare for
    /// more: it is called for every gradient of every step.
    ///
    /// @throws UnsupportedOperationException when the library does not have it
    MethodHandle criticalFunction(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker()
                .downcallHandle(symbol(name), descriptor, Linker.Option.critical(true));
    }

    /// @throws UnsupportedOperationException when the library does not have it
    MemorySegment symbol(String name) {
        return symbols.find(name)
                .orElseThrow(
                        () ->
                                new UnsupportedOperationException(
                                        "%s does not have the function %s"
                                                .formatted(LIBRARY, name)));
    }

    /// The address of a function that libtorch may call, and that must not throw. It lives forever.
    ///
    /// @param type has one method, `called`
    static <T> MemorySegment callback(Class<T> type, T callback, FunctionDescriptor descriptor) {
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

    /// What is at the address, for a function that knows how long it is.
    static MemorySegment at(long address) {
        return MemorySegment.ofAddress(address);
    }

    /// A call of the C interface.
    ///
    /// @throws IllegalStateException when it returns an error
    static void check(String name, Call<Integer> call) {
        int error = run(name, call);
        if (error != 0) {
            throw new IllegalStateException(
                    "%s of libtorch failed with error %d; it has said why on standard error"
                            .formatted(name, error));
        }
    }

    static <T> T run(String name, Call<T> call) {
        try {
            return call.run();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("%s of libtorch cannot be called".formatted(name), e);
        }
    }

    interface Call<T> {
        T run() throws Throwable;
    }
}
