package org.horovod4j.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.natives.NativeLibrary;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/// How much memory of the first GPU is in use, by all processes together.
@SuppressWarnings("restricted") // calls a function of the driver
public final class GpuMemory {
    private static final MethodHandle INFO =
            NativeLibrary.open("libcuda.so.1")
                    .function("cuMemGetInfo_v2", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));

    private GpuMemory() {}

    /// In MB.
    public static int used() {
        Cuda.open().device(0).api(); // its context is that of this thread now
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment free = arena.allocate(JAVA_LONG);
            MemorySegment total = arena.allocate(JAVA_LONG);
            int result =
                    NativeLibrary.call(
                            "cuMemGetInfo_v2", () -> (int) INFO.invokeExact(free, total));
            if (result != 0) {
                throw new IllegalStateException("cuMemGetInfo failed with error " + result);
            }
            return Math.toIntExact((total.get(JAVA_LONG, 0) - free.get(JAVA_LONG, 0)) >> 20);
        }
    }
}
