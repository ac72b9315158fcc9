package org.horovod4j.natives;

import static java.lang.foreign.MemorySegment.NULL;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/// Memory with machine code, which is never freed. It is first written and then made executable, so it is
/// never both writable and executable.
@SuppressWarnings("restricted") // native memory is the purpose of this file
final class ExecutableMemory {
    // As Linux defines them on x86-64.
    private static final int PROT_READ = 1;
    private static final int PROT_WRITE = 2;
    private static final int PROT_EXEC = 4;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final long MAP_FAILED = -1;

    private ExecutableMemory() {}

    /// The address of a copy of `code`; empty if this system has no such memory or does not allow it.
    static Optional<MemorySegment> with(byte[] code) {
        Optional<MethodHandle> map =
                NativeLibrary.findInSystem(
                        "mmap",
                        FunctionDescriptor.of(
                                ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT,
                                JAVA_LONG));
        Optional<MethodHandle> protect =
                NativeLibrary.findInSystem(
                        "mprotect", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
        if (!System.getProperty("os.name").equals("Linux") || map.isEmpty() || protect.isEmpty()) {
            return Optional.empty();
        }
        long size = code.length;
        MethodHandle mapFunction = map.get();
        MemorySegment address =
                NativeLibrary.call(
                        "mmap",
                        () ->
                                (MemorySegment)
                                        mapFunction.invokeExact(
                                                NULL,
                                                size,
                                                PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE_ANONYMOUS,
                                                -1,
                                                0L));
        if (address.address() == MAP_FAILED) {
            return Optional.empty();
        }
        address.reinterpret(size).copyFrom(MemorySegment.ofArray(code));
        MethodHandle protectFunction = protect.get();
        int result =
                NativeLibrary.call(
                        "mprotect",
                        () ->
                                (int)
                                        protectFunction.invokeExact(
                                                address, size, PROT_READ | PROT_EXEC));
        return result == 0 ? Optional.of(address) : Optional.empty();
    }
}
