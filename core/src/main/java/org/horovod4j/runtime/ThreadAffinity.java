package org.horovod4j.runtime;

import org.horovod4j.log.Log;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.spi.RankAndSize;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;

/// Binds a thread to the processor that `HOROVOD_THREAD_AFFINITY` names for its rank, by the
/// function `sched_setaffinity` of Linux's C library.
///
/// A thread that cannot be bound runs unbound, with a warning: results do not depend on it.
final class ThreadAffinity {
    private static final Logger LOG = Log.of(ThreadAffinity.class);

    /// Processors of a set, as the C library defines it.
    private static final int MAX_PROCESSORS = 1024;

    private ThreadAffinity() {}

    /// A task that first binds its thread.
    ///
    /// @param processors one for each rank of a host
    /// @param local this rank on its host
    static Runnable bound(List<Integer> processors, RankAndSize local, Runnable task) {
        if (local.rank() >= processors.size()) {
            LOG.log(
                    Level.WARNING,
                    "{0} names {1}, but this host has {2} ranks. The thread of this rank is not bound.",
                    RuntimeOptions.THREAD_AFFINITY,
                    MessageText.count(processors.size(), "processor"),
                    local.size());
            return task;
        }
        int processor = processors.get(local.rank());
        return () -> {
            String problem = bind(processor);
            if (problem.isEmpty()) {
                LOG.log(Level.DEBUG, "Bound to processor {0}", processor);
            } else {
                LOG.log(
                        Level.WARNING,
                        "{0}: thread {1} is not bound to processor {2}, because {3}.",
                        RuntimeOptions.THREAD_AFFINITY,
                        Thread.currentThread().getName(),
                        processor,
                        problem);
            }
            task.run();
        };
    }

    /// Binds the calling thread.
    ///
    /// @return why it could not be bound; empty if it is
    static String bind(int processor) {
        if (!ThreadAffinity.class.getModule().isNativeAccessEnabled()) {
            return "the JVM was started without --enable-native-access=ALL-UNNAMED";
        }
        MethodHandle handle = link();
        if (handle == null) {
            return "this system has no sched_setaffinity";
        }
        if (processor >= MAX_PROCESSORS) {
            return "there is no such processor";
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(MAX_PROCESSORS / Byte.SIZE, Long.BYTES);
            set.setAtIndex(ValueLayout.JAVA_LONG, processor / Long.SIZE, 1L << processor);
            int result = (int) handle.invokeExact(0, set.byteSize(), set);
            return result == 0 ? "" : "this process may not use it";
        } catch (Throwable e) {
            return e.toString(); // the thread has other work, and does it unbound
        }
    }

    private static @Nullable MethodHandle link() {
        Linker linker = Linker.nativeLinker();
        return linker.defaultLookup()
                .find("sched_setaffinity")
                .map(
                        address ->
                                linker.downcallHandle(
                                        address,
                                        FunctionDescriptor.of(
                                                ValueLayout.JAVA_INT,
                                                ValueLayout.JAVA_INT,
                                                ValueLayout.JAVA_LONG,
                                                ValueLayout.ADDRESS)))
                .orElse(null);
    }
}
