package org.horovod4j.natives;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.BitSet;
import java.util.Optional;

/// Processors on which a thread may run.
///
/// A thread starts with the processors of the thread that creates it.
public final class ProcessorSet {
    /// As many as Linux supports.
    private static final int MAX_PROCESSORS = 8192;

    private static final int BYTES = MAX_PROCESSORS / Byte.SIZE;

    private final BitSet processors;

    // Functions of the C library, each linked when it is first needed; null where the system has
    // none.

    private static final class GetAffinity {
        static final @Nullable MethodHandle FUNCTION = link("sched_getaffinity");
    }

    private static final class SetAffinity {
        static final @Nullable MethodHandle FUNCTION = link("sched_setaffinity");
    }

    private static final class GetProcessor {
        static final @Nullable MethodHandle FUNCTION =
                NativeLibrary.findInSystem(
                                "sched_getcpu",
                                FunctionDescriptor.of(ValueLayout.JAVA_INT),
                                Linker.Option.critical(false))
                        .orElse(null);
    }

    private ProcessorSet(BitSet processors) {
        this.processors = processors;
    }

    /// One processor, by the number that Linux gives it.
    public static ProcessorSet of(int processor) {
        BitSet one = new BitSet();
        one.set(processor);
        return new ProcessorSet(one);
    }

    /// The processor that the calling thread runs on, or a negative number where it is not known.
    public static int current() {
        MethodHandle function = GetProcessor.FUNCTION;
        return function == null
                ? -1
                : NativeLibrary.call("sched_getcpu", () -> (int) function.invokeExact());
    }

    /// The processors of the calling thread; empty where they cannot be read.
    public static Optional<ProcessorSet> ofCurrentThread() {
        MethodHandle function = GetAffinity.FUNCTION;
        if (function == null) {
            return Optional.empty();
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(BYTES, Long.BYTES);
            return call(function, set) == 0
                    ? Optional.of(
                            new ProcessorSet(BitSet.valueOf(set.toArray(ValueLayout.JAVA_LONG))))
                    : Optional.empty();
        }
    }

    /// Lets the calling thread run on these processors only.
    ///
    /// @return why it cannot; empty if it does
    public String bindCurrentThread() {
        if (!NativeLibrary.isEnabled()) {
            return "the JVM was started without --enable-native-access=ALL-UNNAMED";
        }
        MethodHandle function = SetAffinity.FUNCTION;
        if (function == null) {
            return "this system has no sched_setaffinity";
        }
        if (processors.length() > MAX_PROCESSORS) {
            return "there is no such processor";
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(BYTES, Long.BYTES);
            set.copyFrom(MemorySegment.ofArray(processors.toLongArray()));
            return call(function, set) == 0 ? "" : "this process may not use it";
        }
    }

    /// The processors of this set that are not in `others`, by their numbers.
    public BitSet without(BitSet others) {
        BitSet rest = (BitSet) processors.clone();
        rest.andNot(others);
        return rest;
    }

    private static @Nullable MethodHandle link(String name) {
        return NativeLibrary.findInSystem(
                        name,
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT,
                                ValueLayout.JAVA_INT,
                                ValueLayout.JAVA_LONG,
                                ValueLayout.ADDRESS))
                .orElse(null);
    }

    /// @return 0 if the call succeeds
    private static int call(MethodHandle function, MemorySegment set) {
        int callingThread = 0;
        return NativeLibrary.call(
                "sched_setaffinity or sched_getaffinity",
                () -> (int) function.invokeExact(callingThread, (long) BYTES, set));
    }
}
