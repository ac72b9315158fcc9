package org.horovod4j.nccl;

import static org.horovod4j.natives.NativeLibrary.call;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.HorovodException;
import org.horovod4j.natives.NativeLibrary;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.util.Arrays;

/// The functions of NCCL. Communicators and streams are handles, memory is given by its address.
///
/// Functions that take a communicator return [#IN_PROGRESS] while NCCL works on a call in the
/// background, because communicators do not block.
@SuppressWarnings("restricted") // native calls are the purpose of this file
final class LibNccl {
    static final int SUCCESS = 0;
    static final int IN_PROGRESS = 7;

    static final int UNIQUE_ID_BYTES = 128;

    /// NCCL's data types and reduce ops.
    static final int INT8 = 0;

    static final int UINT8 = 1;
    static final int INT32 = 2;
    static final int INT64 = 4;
    static final int FLOAT16 = 6;
    static final int FLOAT32 = 7;
    static final int FLOAT64 = 8;
    static final int BFLOAT16 = 9;

    static final int SUM = 0;
    static final int PRODUCT = 1;
    static final int MAX = 2;
    static final int MIN = 3;
    static final int AVERAGE = 4;

    /// The first version with communicators that do not block and the fields of [#CONFIG].
    static final int LEAST_VERSION = 21_800;

    private static final int UNDEFINED = Integer.MIN_VALUE;
    private static final int CONFIG_MAGIC = 0xcafe_beef;
    private static final int MAX_MESSAGE = 4096;

    /// `ncclConfig_t` as of [#LEAST_VERSION]. Later versions accept it, as it starts with its size.
    static final StructLayout CONFIG =
            MemoryLayout.structLayout(
                    JAVA_LONG.withName("size"),
                    JAVA_INT.withName("magic"),
                    JAVA_INT.withName("version"),
                    JAVA_INT.withName("blocking"),
                    JAVA_INT.withName("cgaClusterSize"),
                    JAVA_INT.withName("minCtas"),
                    JAVA_INT.withName("maxCtas"),
                    ADDRESS.withName("netName"),
                    JAVA_INT.withName("splitShare"),
                    MemoryLayout.paddingLayout(4));

    /// An id, which `ncclCommInitRank` takes by value.
    static final MemoryLayout UNIQUE_ID =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(UNIQUE_ID_BYTES, JAVA_BYTE));

    /// The collectives. Each launches its work on a stream. A size in bytes goes with [#INT8] as its type.
    final Reduction allReduce;

    /// The count is that of the elements that each rank receives.
    final Reduction reduceScatter;

    final RootedReduction reduce;

    /// The byte size is that of what each rank sends.
    final Gather allGather;

    final Broadcast broadcast;
    final Transfer send;
    final Transfer receive;
    final GroupCall groupStart;
    final GroupCall groupEnd;
    final CommunicatorCall destroy;
    final CommunicatorCall abort;

    private final String name;
    private final NativeLibrary library;
    private final MethodHandle getErrorString;
    private final MethodHandle getLastError;
    private final MethodHandle initRank;
    private final OutCall getUniqueId;
    private final CommunicatorOutCall getAsyncError;
    private final int version;

    /// `ncclAllReduce` and `ncclReduceScatter`. As in all these types, the parameters are those of
    /// NCCL's header, from which the function is linked.
    public interface Reduction {
        int call(
                long source,
                long target,
                long count,
                int dataType,
                int op,
                long communicator,
                long stream);
    }

    /// `ncclReduce`.
    public interface RootedReduction {
        int call(
                long source,
                long target,
                long count,
                int dataType,
                int op,
                int rootRank,
                long communicator,
                long stream);
    }

    /// `ncclAllGather`.
    public interface Gather {
        int call(
                long source, long target, long count, int dataType, long communicator, long stream);
    }

    /// `ncclBroadcast`.
    public interface Broadcast {
        int call(
                long source,
                long target,
                long count,
                int dataType,
                int rootRank,
                long communicator,
                long stream);
    }

    /// `ncclSend` and `ncclRecv`.
    public interface Transfer {
        int call(long address, long count, int dataType, int peer, long communicator, long stream);
    }

    /// `ncclGroupStart` and `ncclGroupEnd`.
    public interface GroupCall {
        int call();
    }

    /// `ncclCommDestroy` and `ncclCommAbort`.
    public interface CommunicatorCall {
        int call(long communicator);
    }

    /// A function that writes its result to memory.
    public interface OutCall {
        int call(MemorySegment out);
    }

    /// The same for a communicator.
    public interface CommunicatorOutCall {
        int call(long communicator, MemorySegment out);
    }

    /// @param nameOrPath of the library
    /// @throws UnsupportedOperationException when it is missing or too old
    LibNccl(String nameOrPath) {
        this.name = nameOrPath;
        this.library = NativeLibrary.open(nameOrPath);
        this.version = getInt("ncclGetVersion", link("ncclGetVersion", OutCall.class));
        if (version < LEAST_VERSION) {
            throw new UnsupportedOperationException(
                    "%s is too old: %s or newer is needed"
                            .formatted(describe(), text(LEAST_VERSION)));
        }
        getErrorString =
                library.function("ncclGetErrorString", FunctionDescriptor.of(ADDRESS, JAVA_INT));
        getLastError =
                library.function("ncclGetLastError", FunctionDescriptor.of(ADDRESS, JAVA_LONG));
        initRank =
                library.function(
                        "ncclCommInitRankConfig",
                        FunctionDescriptor.of(
                                JAVA_INT, ADDRESS, JAVA_INT, UNIQUE_ID, JAVA_INT, ADDRESS));
        getUniqueId = link("ncclGetUniqueId", OutCall.class);
        destroy = link("ncclCommDestroy", CommunicatorCall.class);
        abort = link("ncclCommAbort", CommunicatorCall.class);
        getAsyncError = link("ncclCommGetAsyncError", CommunicatorOutCall.class);
        allReduce = link("ncclAllReduce", Reduction.class);
        reduce = link("ncclReduce", RootedReduction.class);
        reduceScatter = link("ncclReduceScatter", Reduction.class);
        allGather = link("ncclAllGather", Gather.class);
        broadcast = link("ncclBroadcast", Broadcast.class);
        send = link("ncclSend", Transfer.class);
        receive = link("ncclRecv", Transfer.class);
        groupStart = link("ncclGroupStart", GroupCall.class);
        groupEnd = link("ncclGroupEnd", GroupCall.class);
    }

    /// A function that returns an error code.
    ///
    /// @param type an interface whose only method has the parameters of the function
    private <T> T link(String function, Class<T> type) {
        MemoryLayout[] parameters =
                Arrays.stream(type.getMethods()[0].getParameterTypes())
                        .map(LibNccl::layout)
                        .toArray(MemoryLayout[]::new);
        return MethodHandleProxies.asInterfaceInstance(
                type, library.function(function, FunctionDescriptor.of(JAVA_INT, parameters)));
    }

    private static MemoryLayout layout(Class<?> type) {
        if (type == long.class) {
            return JAVA_LONG;
        }
        return type == int.class ? JAVA_INT : ADDRESS;
    }

    /// As in `NCCL 2.28.3 in libnccl.so.2`.
    String describe() {
        return "NCCL %s in %s".formatted(text(version), name);
    }

    private static String text(int code) {
        return "%d.%d.%d".formatted(code / 10_000, code / 100 % 100, code % 100);
    }

    /// The exception for an error.
    ///
    /// @param communicator whose last error is added, or 0
    HorovodException failure(String function, int result, long communicator) {
        MemorySegment words =
                call(
                        "ncclGetErrorString",
                        () -> (MemorySegment) getErrorString.invokeExact(result));
        String last = lastError(communicator);
        return new HorovodException(
                "%s failed: %s%s%nNCCL_DEBUG=INFO makes NCCL log what it does."
                        .formatted(
                                function,
                                words.reinterpret(MAX_MESSAGE).getString(0),
                                last.isBlank() ? "" : ": " + last));
    }

    private String lastError(long communicator) {
        MemorySegment words =
                call(
                        "ncclGetLastError",
                        () -> (MemorySegment) getLastError.invokeExact(communicator));
        return words.address() == 0
                ? ""
                : words.reinterpret(MAX_MESSAGE)
                        .getString(0)
                        .strip()
                        .replaceAll("\\s*\\R\\s*", "; ");
    }

    /// The one place where results are checked that do not belong to a communicator.
    private void check(String function, int result) {
        if (result != SUCCESS) {
            throw new HorovodException("%s failed with error %d".formatted(function, result));
        }
    }

    private int getInt(String function, OutCall outCall) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG);
            check(function, outCall.call(out));
            return out.get(JAVA_INT, 0);
        }
    }

    /// The id of a new communicator, which its ranks share.
    byte[] uniqueId() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(UNIQUE_ID);
            int result = getUniqueId.call(id);
            if (result != SUCCESS) {
                throw failure("ncclGetUniqueId", result, 0);
            }
            return id.toArray(JAVA_BYTE);
        }
    }

    /// Begins to form a communicator that does not block, for the current device of this thread.
    ///
    /// @return its handle
    long initRank(int size, byte[] uniqueId, int rank) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG);
            MemorySegment id = arena.allocateFrom(JAVA_BYTE, uniqueId);
            MemorySegment config = config(arena);
            int result =
                    call(
                            "ncclCommInitRankConfig",
                            () -> (int) initRank.invokeExact(out, size, id, rank, config));
            if (result != SUCCESS && result != IN_PROGRESS) {
                throw failure("ncclCommInitRankConfig", result, 0);
            }
            return out.get(JAVA_LONG, 0);
        }
    }

    private static MemorySegment config(Arena arena) {
        MemorySegment config = arena.allocate(CONFIG);
        config.set(JAVA_LONG, offset("size"), CONFIG.byteSize());
        config.set(JAVA_INT, offset("magic"), CONFIG_MAGIC);
        config.set(JAVA_INT, offset("version"), LEAST_VERSION);
        config.set(JAVA_INT, offset("blocking"), 0);
        config.set(JAVA_INT, offset("cgaClusterSize"), UNDEFINED);
        config.set(JAVA_INT, offset("minCtas"), UNDEFINED);
        config.set(JAVA_INT, offset("maxCtas"), UNDEFINED);
        config.set(JAVA_INT, offset("splitShare"), UNDEFINED);
        return config;
    }

    private static long offset(String field) {
        return CONFIG.byteOffset(MemoryLayout.PathElement.groupElement(field));
    }

    /// The state of a communicator: [#SUCCESS], [#IN_PROGRESS] or an error.
    int asyncError(long communicator) {
        return getInt("ncclCommGetAsyncError", out -> getAsyncError.call(communicator, out));
    }
}
