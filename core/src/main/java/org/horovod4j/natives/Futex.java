package org.horovod4j.natives;

import static java.lang.foreign.MemorySegment.NULL;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.Objects;

/// The system call `futex` of Linux: a thread sleeps until a thread of any process that maps the
/// same memory wakes it.
///
/// One thread at a time uses an instance to sleep.
public final class Futex {
    private static final int WAIT = 0;
    private static final int WAKE = 1;
    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /// The number of the call, by the JVM's name of the processor.
    private static final Map<String, Long> CALL_NUMBERS = Map.of("amd64", 202L, "aarch64", 98L);

    private final MemorySegment timeout =
            Arena.ofAuto().allocate(MemoryLayout.sequenceLayout(2, ValueLayout.JAVA_LONG));

    /// Linked when it is first needed, as that takes some milliseconds.
    private static final class SystemCall {
        static final long NUMBER = CALL_NUMBERS.getOrDefault(System.getProperty("os.arch"), -1L);
        static final @Nullable MethodHandle HANDLE = link();

        private static @Nullable MethodHandle link() {
            if (!System.getProperty("os.name").equals("Linux") || NUMBER < 0) {
                return null;
            }
            return NativeLibrary.findInSystem(
                            "syscall",
                            FunctionDescriptor.of(
                                    ValueLayout.JAVA_LONG,
                                    ValueLayout.JAVA_LONG,
                                    ValueLayout.ADDRESS,
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.ADDRESS),
                            Linker.Option.firstVariadicArg(1))
                    .orElse(null);
        }
    }

    /// False on systems without this call, and if the JVM was started without
    /// `--enable-native-access` for this module, as it would print a warning then.
    public static boolean isAvailable() {
        return SystemCall.HANDLE != null;
    }

    /// Sleeps if `word` has the value `expected`, at most for `nanos`. May return early.
    public void await(MemorySegment word, int expected, long nanos) {
        timeout.setAtIndex(ValueLayout.JAVA_LONG, 0, nanos / NANOS_PER_SECOND);
        timeout.setAtIndex(ValueLayout.JAVA_LONG, 1, nanos % NANOS_PER_SECOND);
        long _ = call(handle(), word, WAIT, expected, timeout);
    }

    /// Wakes the thread that sleeps on `word`.
    public static void wake(MemorySegment word) {
        long _ = call(handle(), word, WAKE, 1, NULL);
    }

    private static MethodHandle handle() {
        return Objects.requireNonNull(SystemCall.HANDLE, "isAvailable() was checked");
    }

    private static long call(
            MethodHandle handle, MemorySegment word, int operation, int value, MemorySegment time) {
        return NativeLibrary.call(
                "syscall",
                () -> (long) handle.invokeExact(SystemCall.NUMBER, word, operation, value, time));
    }
}
