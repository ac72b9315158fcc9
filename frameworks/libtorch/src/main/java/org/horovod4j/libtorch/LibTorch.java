package org.horovod4j.libtorch;

import static java.lang.foreign.ValueLayout.ADDRESS;

import org.horovod4j.natives.NativeLibrary;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/// The functions of libtorch.
///
/// A tensor is given as the address of an `at::Tensor`. The functions `aoti_torch_…` take the same
/// address: they are a stable C interface and return an error code. Functions with mangled names are
/// C++ (Itanium C++ ABI, libstdc++). A C++ exception would end the JVM, so each caller of such a
/// function states when the function does not throw.
@SuppressWarnings("restricted") // native calls are the purpose of this file
public final class LibTorch {

    static final long POINTER = ADDRESS.byteSize();

    private final NativeLibrary library;

    private LibTorch(NativeLibrary library) {
        this.library = library;
    }

    /// Opens a library by the name that it was built with, if a binding has loaded it, or by its
    /// path. It stays open until the process ends.
    ///
    /// @throws UnsupportedOperationException when there is no such library
    static LibTorch open(String nameOrPath) {
        return new LibTorch(NativeLibrary.open(nameOrPath));
    }

    /// @throws UnsupportedOperationException when the library does not have it
    MethodHandle function(String name, FunctionDescriptor descriptor) {
        return library.function(name, descriptor);
    }

    /// A short function that neither blocks nor calls back. The call skips the JVM's thread state
    /// transition, because it happens for every gradient of every step.
    ///
    /// @throws UnsupportedOperationException when the library does not have it
    MethodHandle criticalFunction(String name, FunctionDescriptor descriptor) {
        return library.function(name, descriptor, Linker.Option.critical(true));
    }

    /// @throws UnsupportedOperationException when the library does not have it
    MemorySegment symbol(String name) {
        return library.symbol(name);
    }

    /// The address of a function that libtorch can call. It must not throw. It is never freed.
    ///
    /// @param type an interface with one method, `called`
    static <T> MemorySegment callback(Class<T> type, T callback, FunctionDescriptor descriptor) {
        return NativeLibrary.callback(MethodHandles.lookup(), type, callback, descriptor);
    }

    /// A pointer argument.
    static MemorySegment at(long address) {
        return MemorySegment.ofAddress(address);
    }

    /// Calls a function of the C interface.
    ///
    /// @throws IllegalStateException when it returns an error
    static void check(String name, NativeLibrary.Call<Integer> call) {
        int error = NativeLibrary.call(name, call);
        if (error != 0) {
            throw new IllegalStateException(
                    "%s of libtorch failed with error %d; its message is on standard error"
                            .formatted(name, error));
        }
    }
}
