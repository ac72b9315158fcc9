package org.horovod4j.natives;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Optional;

/// A library of C or C++ functions: links them, calls them, and creates functions that it can call.
@SuppressWarnings("restricted") // native calls are the purpose of this file
public final class NativeLibrary {
    private static final Linker LINKER = Linker.nativeLinker();

    private final String name;
    private final SymbolLookup symbols;

    private NativeLibrary(String name, SymbolLookup symbols) {
        this.name = name;
        this.symbols = symbols;
    }

    /// Whether the JVM was started with `--enable-native-access` for this module. If not, it would print
    /// a warning at the first call.
    public static boolean isEnabled() {
        return NativeLibrary.class.getModule().isNativeAccessEnabled();
    }

    /// Links a function of the C library, which takes some milliseconds.
    ///
    /// @return empty if this system has no such function, or native access is not enabled
    static Optional<MethodHandle> findInSystem(
            String function, FunctionDescriptor descriptor, Linker.Option... options) {
        return isEnabled()
                ? LINKER.defaultLookup()
                        .find(function)
                        .map(address -> LINKER.downcallHandle(address, descriptor, options))
                : Optional.empty();
    }

    /// Makes a function of machine code. It is never freed.
    ///
    /// @return empty if this system is not Linux, does not allow it, or native access is not enabled
    static Optional<MethodHandle> ofMachineCode(
            byte[] code, FunctionDescriptor descriptor, Linker.Option... options) {
        return ExecutableMemory.with(code)
                .map(address -> LINKER.downcallHandle(address, descriptor, options));
    }

    /// Opens a library by the name that it was built with, if it is loaded, or by its path. It stays
    /// open until the process ends.
    ///
    /// @throws UnsupportedOperationException when there is no such library
    public static NativeLibrary open(String nameOrPath) {
        try {
            return new NativeLibrary(
                    nameOrPath, SymbolLookup.libraryLookup(nameOrPath, Arena.global()));
        } catch (IllegalArgumentException e) {
            throw new UnsupportedOperationException("%s cannot be opened".formatted(nameOrPath), e);
        }
    }

    /// Links a function, which takes some milliseconds.
    ///
    /// @throws UnsupportedOperationException when the library does not have it
    public MethodHandle function(
            String function, FunctionDescriptor descriptor, Linker.Option... options) {
        return LINKER.downcallHandle(symbol(function), descriptor, options);
    }

    /// A function of which only the address is known. The handle takes the address as first argument.
    public static MethodHandle functionAtAddress(FunctionDescriptor descriptor) {
        return LINKER.downcallHandle(descriptor);
    }

    /// The address of a function or variable.
    ///
    /// @throws UnsupportedOperationException when the library does not have it
    public MemorySegment symbol(String symbol) {
        return symbols.find(symbol)
                .orElseThrow(
                        () ->
                                new UnsupportedOperationException(
                                        "%s has no symbol %s".formatted(name, symbol)));
    }

    /// The address of a function that a library can call. It must not throw. It is never freed.
    ///
    /// @param lookup of a class that can see `type`
    /// @param type an interface with one method, `called`
    public static <T> MemorySegment callback(
            MethodHandles.Lookup lookup, Class<T> type, T callback, FunctionDescriptor descriptor) {
        try {
            MethodHandle method = lookup.findVirtual(type, "called", descriptor.toMethodType());
            return LINKER.upcallStub(method.bindTo(callback), descriptor, Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "a native library cannot call a %s".formatted(type.getSimpleName()), e);
        }
    }

    /// Calls a function. All calls of functions pass here, since their handles declare `Throwable`.
    ///
    /// @param function its name, for the message
    /// @throws IllegalStateException when it cannot be called
    public static <T> T call(String function, Call<T> call) {
        try {
            return call.run();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("%s cannot be called".formatted(function), e);
        }
    }

    /// The same for a function that returns nothing.
    public static void execute(String function, Action action) {
        call(
                function,
                () -> {
                    action.run();
                    return true;
                });
    }

    /// A call of a function.
    public interface Call<T> {
        T run() throws Throwable;
    }

    /// A call of a function that returns nothing. Write it as a block: without one, a call of `invokeExact`
    /// would return an object.
    public interface Action {
        void run() throws Throwable;
    }
}
