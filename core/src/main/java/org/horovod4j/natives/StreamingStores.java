package org.horovod4j.natives;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.HexFormat;

/// Copies memory with the streaming (non-temporal) stores of x86-64 processors. They write whole cache
/// lines to memory and bypass the caches.
///
/// An ordinary store needs its cache line for itself. If another core has read the line, its copy is
/// invalidated first, which takes tens of nanoseconds between cores that share no cache. A streaming
/// store does not wait for that.
///
/// Java has no method for such stores, and `memcpy` of the C library uses them for copies of several
/// megabytes only. So this class has a loop in machine code.
public final class StreamingStores {
    private static final int LINE_BYTES = 64;

    /// Below this size an ordinary copy is faster.
    private static final long MIN_BYTES = 512;

    /// A function with the target in `rdi`, the source in `rsi` and the number of bytes in `rdx`. The
    /// target starts at a cache line; the bytes are one or more whole lines. After the fence, other
    /// cores see the bytes before any later store.
    private static final byte[] COPY_LINES =
            HexFormat.of()
                    .parseHex(
                            """
                            f30f1efa            endbr64
                            0f1006        loop: movups (%rsi), %xmm0
                            0f104e10            movups 16(%rsi), %xmm1
                            0f105620            movups 32(%rsi), %xmm2
                            0f105e30            movups 48(%rsi), %xmm3
                            660fe707            movntdq %xmm0, (%rdi)
                            660fe74f10          movntdq %xmm1, 16(%rdi)
                            660fe75720          movntdq %xmm2, 32(%rdi)
                            660fe75f30          movntdq %xmm3, 48(%rdi)
                            4883c640            add $64, %rsi
                            4883c740            add $64, %rdi
                            4883ea40            sub $64, %rdx
                            75d0                jne loop
                            0faef8              sfence
                            c3                  ret
                            """
                                    .replaceAll(" .*|\n", ""));

    private StreamingStores() {}

    /// Linked when it is first needed, as that takes some milliseconds.
    private static final class CopyLines {
        static final @Nullable MethodHandle HANDLE = link();

        private static @Nullable MethodHandle link() {
            if (!System.getProperty("os.arch").equals("amd64")) {
                return null;
            }
            return NativeLibrary.ofMachineCode(
                            COPY_LINES,
                            FunctionDescriptor.ofVoid(
                                    ValueLayout.ADDRESS,
                                    ValueLayout.ADDRESS,
                                    ValueLayout.JAVA_LONG),
                            Linker.Option.critical(true)) // the source may be a Java array
                    .orElse(null);
        }
    }

    /// True on Linux on x86-64, if the JVM was started with `--enable-native-access` for this module and
    /// the system allows executable memory.
    public static boolean isAvailable() {
        return CopyLines.HANDLE != null;
    }

    /// Copies `bytes` bytes to an off-heap target. Threads that see a later store of this thread also see the copy.
    ///
    /// Short copies, and the ends of a target that are not whole cache lines, use ordinary stores. Where
    /// [#isAvailable] is false, all do.
    public static void copy(
            MemorySegment source,
            long sourceOffset,
            MemorySegment target,
            long targetOffset,
            long bytes) {
        MethodHandle handle = CopyLines.HANDLE;
        if (handle == null || bytes < MIN_BYTES) {
            MemorySegment.copy(source, sourceOffset, target, targetOffset, bytes);
            return;
        }
        long head = -(target.address() + targetOffset) & (LINE_BYTES - 1);
        long lines = (bytes - head) & -LINE_BYTES;
        MemorySegment from = source.asSlice(sourceOffset + head, lines);
        MemorySegment to = target.asSlice(targetOffset + head, lines);
        NativeLibrary.execute(
                "the copy with streaming stores",
                () -> {
                    handle.invokeExact(to, from, lines);
                });
        MemorySegment.copy(source, sourceOffset, target, targetOffset, head);
        long done = head + lines;
        MemorySegment.copy(source, sourceOffset + done, target, targetOffset + done, bytes - done);
    }
}
