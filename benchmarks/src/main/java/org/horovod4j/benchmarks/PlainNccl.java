package org.horovod4j.benchmarks;

import static org.horovod4j.natives.NativeLibrary.call;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.horovod4j.Communicator;
import org.horovod4j.natives.NativeLibrary;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Objects;

/// Calls of NCCL without the runtime, by all ranks, on the current device of the thread.
final class PlainNccl implements AutoCloseable {
    private static final int ID_BYTES = 128;
    private static final int FLOAT32 = 7;
    private static final int SUM = 0;

    private static final MemoryLayout ID =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(ID_BYTES, JAVA_BYTE));

    private final MethodHandle allReduce;
    private final MethodHandle destroy;
    private final long communicator;

    PlainNccl(Communicator comm) {
        NativeLibrary nccl =
                NativeLibrary.open(
                        System.getenv().getOrDefault("HOROVOD_NCCL_LIBRARY", "libnccl.so.2"));
        MethodHandle uniqueId =
                nccl.function("ncclGetUniqueId", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        MethodHandle init =
                nccl.function(
                        "ncclCommInitRank",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ID, JAVA_INT));
        allReduce =
                nccl.function(
                        "ncclAllReduce",
                        FunctionDescriptor.of(
                                JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT,
                                JAVA_LONG, JAVA_LONG));
        destroy = nccl.function("ncclCommDestroy", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(ID);
            check("ncclGetUniqueId", call("ncclGetUniqueId", () -> (int) uniqueId.invokeExact(id)));
            byte[] first =
                    Objects.requireNonNull(
                            comm.broadcastObject("nccl id", id.toArray(JAVA_BYTE), 0));
            id.copyFrom(MemorySegment.ofArray(first));
            MemorySegment out = arena.allocate(JAVA_LONG);
            check(
                    "ncclCommInitRank",
                    call(
                            "ncclCommInitRank",
                            () -> (int) init.invokeExact(out, comm.size(), id, comm.rank())));
            communicator = out.get(JAVA_LONG, 0);
        }
    }

    /// Launches the sum of floats over all ranks, in place.
    void sumFloats(long address, long count, long stream) {
        check(
                "ncclAllReduce",
                call(
                        "ncclAllReduce",
                        () ->
                                (int)
                                        allReduce.invokeExact(
                                                address,
                                                address,
                                                count,
                                                FLOAT32,
                                                SUM,
                                                communicator,
                                                stream)));
    }

    private static void check(String function, int result) {
        if (result != 0) {
            throw new IllegalStateException(
                    "%s failed with error %d; NCCL_DEBUG=INFO makes NCCL log what it does"
                            .formatted(function, result));
        }
    }

    @Override
    public void close() {
        check(
                "ncclCommDestroy",
                call("ncclCommDestroy", () -> (int) destroy.invokeExact(communicator)));
    }
}
