package org.horovod4j.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Arrays;

/// The counterpart of [InitOnly] for MPI: calls `MPI_Init`, records the time, and calls
/// `MPI_Finalize`. Argument: the path of the [TimestampFile].
///
/// It makes three native calls, the minimum for MPI from Java. A complete binding costs more.
public final class MpiInitOnly {
    /// Open MPI loads plug-ins, which need its symbols in the global namespace.
    private static final int RTLD_NOW_GLOBAL = 0x102;

    private final Linker linker = Linker.nativeLinker();

    private MpiInitOnly() {}

    public static void main(String[] arguments) throws IOException {
        MpiInitOnly mpi = new MpiInitOnly();
        SymbolLookup library = mpi.load("libmpi.so.40");
        mpi.call(library, "MPI_Init", MemorySegment.NULL, MemorySegment.NULL);
        TimestampFile.append(Path.of(arguments[0]));
        mpi.call(library, "MPI_Finalize");
    }

    private SymbolLookup load(String library) {
        MethodHandle dlopen =
                linker.downcallHandle(
                        linker.defaultLookup().findOrThrow("dlopen"),
                        FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment opened =
                    (MemorySegment)
                            dlopen.invokeExact(arena.allocateFrom(library), RTLD_NOW_GLOBAL);
            if (opened.equals(MemorySegment.NULL)) {
                throw new IllegalStateException(library + " not found: install Open MPI");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e); // dlopen does not throw
        }
        return SymbolLookup.libraryLookup(library, Arena.global());
    }

    private void call(SymbolLookup library, String function, MemorySegment... arguments) {
        MemoryLayout[] layouts = new MemoryLayout[arguments.length];
        Arrays.fill(layouts, ADDRESS);
        MethodHandle handle =
                linker.downcallHandle(
                        library.findOrThrow(function), FunctionDescriptor.of(JAVA_INT, layouts));
        int result;
        try {
            result = (int) handle.invokeWithArguments((Object[]) arguments);
        } catch (Throwable e) {
            throw new AssertionError(function, e);
        }
        if (result != 0) {
            throw new IllegalStateException(function + " failed with code " + result);
        }
    }
}
