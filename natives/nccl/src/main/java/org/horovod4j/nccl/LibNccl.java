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

    private final String name;
    private final NativeLibrary library;
    private final MethodHandle getErrorString;
    private final MethodHandle getLastError;
    private final MethodHandle getUniqueId;
    private final MethodHandle initRank;
    private final MethodHandle destroy;
    private final MethodHandle abort;
    private final MethodHandle getAsyncError;
    private final MethodHandle allReduce;
    private final MethodHandle reduce;
    private final MethodHandle reduceScatter;
    private final MethodHandle allGather;
    private final MethodHandle broadcast;
    private final MethodHandle send;
    private final MethodHandle receive;
    private final MethodHandle groupStart;
    private final MethodHandle groupEnd;
    private final int version;

    /// @param nameOrPath of the library
    /// @throws UnsupportedOperationException when it is missing or too old
    LibNccl(String nameOrPath) {
        this.name = nameOrPath;
        this.library = NativeLibrary.open(nameOrPath);
        MethodHandle getVersion = link("ncclGetVersion", ADDRESS);
        getErrorString =
                library.function("ncclGetErrorString", FunctionDescriptor.of(ADDRESS, JAVA_INT));
        this.version = getInt("ncclGetVersion", out -> (int) getVersion.invokeExact(out));
        if (version < LEAST_VERSION) {
            throw new UnsupportedOperationException(
                    "%s is too old: %s or newer is needed"
                            .formatted(describe(), text(LEAST_VERSION)));
        }
        getLastError =
                library.function("ncclGetLastError", FunctionDescriptor.of(ADDRESS, JAVA_LONG));
        getUniqueId = link("ncclGetUniqueId", ADDRESS);
        initRank = link("ncclCommInitRankConfig", ADDRESS, JAVA_INT, UNIQUE_ID, JAVA_INT, ADDRESS);
        destroy = link("ncclCommDestroy", JAVA_LONG);
        abort = link("ncclCommAbort", JAVA_LONG);
        getAsyncError = link("ncclCommGetAsyncError", JAVA_LONG, ADDRESS);
        allReduce =
                link(
                        "ncclAllReduce",
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_LONG,
                        JAVA_LONG);
        reduce =
                link(
                        "ncclReduce",
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_LONG,
                        JAVA_LONG);
        reduceScatter =
                link(
                        "ncclReduceScatter",
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_LONG,
                        JAVA_LONG);
        allGather =
                link(
                        "ncclAllGather",
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_INT,
                        JAVA_LONG,
                        JAVA_LONG);
        broadcast =
                link(
                        "ncclBroadcast",
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_LONG,
                        JAVA_INT,
                        JAVA_INT,
                        JAVA_LONG,
                        JAVA_LONG);
        send = link("ncclSend", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
        receive = link("ncclRecv", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
        groupStart = link("ncclGroupStart");
        groupEnd = link("ncclGroupEnd");
    }

    /// A function that returns an error code.
    private MethodHandle link(String function, MemoryLayout... parameters) {
        return library.function(function, FunctionDescriptor.of(JAVA_INT, parameters));
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
            check(function, call(function, () -> outCall.run(out)));
            return out.get(JAVA_INT, 0);
        }
    }

    private interface OutCall {
        int run(MemorySegment out) throws Throwable;
    }

    /// The id of a new communicator, which its ranks share.
    byte[] uniqueId() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(UNIQUE_ID);
            int result = call("ncclGetUniqueId", () -> (int) getUniqueId.invokeExact(id));
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

    int destroy(long communicator) {
        return call("ncclCommDestroy", () -> (int) destroy.invokeExact(communicator));
    }

    int abort(long communicator) {
        return call("ncclCommAbort", () -> (int) abort.invokeExact(communicator));
    }

    /// The state of a communicator: [#SUCCESS], [#IN_PROGRESS] or an error.
    int asyncError(long communicator) {
        return getInt(
                "ncclCommGetAsyncError", out -> (int) getAsyncError.invokeExact(communicator, out));
    }

    int allReduce(
            long source,
            long target,
            long count,
            int dataType,
            int op,
            long communicator,
            long stream) {
        return call(
                "ncclAllReduce",
                () ->
                        (int)
                                allReduce.invokeExact(
                                        source, target, count, dataType, op, communicator, stream));
    }

    int reduce(
            long source,
            long target,
            long count,
            int dataType,
            int op,
            int rootRank,
            long communicator,
            long stream) {
        return call(
                "ncclReduce",
                () ->
                        (int)
                                reduce.invokeExact(
                                        source,
                                        target,
                                        count,
                                        dataType,
                                        op,
                                        rootRank,
                                        communicator,
                                        stream));
    }

    /// @param count the elements that each rank receives
    int reduceScatter(
            long source,
            long target,
            long count,
            int dataType,
            int op,
            long communicator,
            long stream) {
        return call(
                "ncclReduceScatter",
                () ->
                        (int)
                                reduceScatter.invokeExact(
                                        source, target, count, dataType, op, communicator, stream));
    }

    /// @param byteSize what each rank sends
    int allGather(long source, long target, long byteSize, long communicator, long stream) {
        return call(
                "ncclAllGather",
                () ->
                        (int)
                                allGather.invokeExact(
                                        source, target, byteSize, INT8, communicator, stream));
    }

    int broadcast(
            long source, long target, long byteSize, int rootRank, long communicator, long stream) {
        return call(
                "ncclBroadcast",
                () ->
                        (int)
                                broadcast.invokeExact(
                                        source,
                                        target,
                                        byteSize,
                                        INT8,
                                        rootRank,
                                        communicator,
                                        stream));
    }

    int send(long source, long byteSize, int peer, long communicator, long stream) {
        return call(
                "ncclSend",
                () -> (int) send.invokeExact(source, byteSize, INT8, peer, communicator, stream));
    }

    int receive(long target, long byteSize, int peer, long communicator, long stream) {
        return call(
                "ncclRecv",
                () ->
                        (int)
                                receive.invokeExact(
                                        target, byteSize, INT8, peer, communicator, stream));
    }

    int groupStart() {
        return call("ncclGroupStart", () -> (int) groupStart.invokeExact());
    }

    int groupEnd() {
        return call("ncclGroupEnd", () -> (int) groupEnd.invokeExact());
    }
}
