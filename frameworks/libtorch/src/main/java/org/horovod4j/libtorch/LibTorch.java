package org.horovod4j.libtorch;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/// Finds the functions of libtorch, calls them, and creates functions that libtorch can call.
///
/// A tensor is given as the address of an `at::Tensor`. The functions `aoti_torch_…` take the same
/// address: they are a stable C interface and return an error code. Functions with mangled names are
/// C++ (Itanium C++ ABI, libstdc++). A C++ exception would end the JVM, so each caller of such a
/// function states when the function does not throw.
@SuppressWarnings("restricted") // native calls are the purpose of this file
public final class LibTorch {

    static final long POINTER = ADDRESS.byteSize();

    private final String name;
    private final SymbolLookup symbols;

    private LibTorch(String name, SymbolLookup symbols) {
        this.name = name;
        this.symbols = symbols;
    }

    /// Opens a library by the name that it was built with, if a binding has loaded it, or by its
    /// path. It stays open until the process ends.
    ///
    /// @throws UnsupportedOperationException when there is no such library
    static LibTorch open(String nameOrPath) {
        try {
            return new LibTorch(nameOrPath, SymbolLookup.libraryLookup(nameOrPath, Arena.global()));
        } catch (IllegalArgumentException e) {
            throw new UnsupportedOperationException(
                    "%s is not loaded in this process".formatted(nameOrPath), e);
        }
    }

    /// @throws UnsupportedOperationException when the library does not have it
    MethodHandle function(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(symbol(name), descriptor);
    }

    /// A short function that neither blocks nor calls back. The call skips the JVM's thread state
    /// transition, because it happens for every gradient of every step.
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
                                                .formatted(this.name, name)));
    }

    /// The address of a function that libtorch can call. It must not throw. It is never freed.
    ///
    /// @param type an interface with one method, `called`
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

    /// A pointer argument.
    static MemorySegment at(long address) {
        return MemorySegment.ofAddress(address);
    }

    /// Calls a function of the C interface.
    ///
    /// @throws IllegalStateException when it returns an error
    static void check(String name, Call<Integer> call) {
        int error = run(name, call);
        if (error != 0) {
            throw new IllegalStateException(
                    "%s of libtorch failed with error %d; its message is on standard error"
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
