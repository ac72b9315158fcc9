package org.horovod4j.natives;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/// Finds functions of the C library.
final class CLibrary {
    private CLibrary() {}

    /// Whether the JVM was started with `--enable-native-access` for this module. If not, it would print
    /// a warning at the first call.
    static boolean isEnabled() {
        return CLibrary.class.getModule().isNativeAccessEnabled();
    }

    /// Links a function, which takes some milliseconds.
    ///
    /// @return null if this system has no such function, or native access is not enabled
    static @Nullable MethodHandle find(
            String name, FunctionDescriptor descriptor, Linker.Option... options) {
        if (!isEnabled()) {
            return null;
        }
        Linker linker = Linker.nativeLinker();
        return linker.defaultLookup()
                .find(name)
                .map(address -> linker.downcallHandle(address, descriptor, options))
                .orElse(null);
    }
}
