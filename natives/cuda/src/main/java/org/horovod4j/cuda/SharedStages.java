package org.horovod4j.cuda;

import org.horovod4j.spi.DeviceContext;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/// Device memory of each rank that all ranks of the set can read, with the numbers that order access.
///
/// A rank writes its data to its *stage*, and reads the stages of all ranks. A stage has two halves,
/// which are used in turn: while ranks read one, the next data is written to the other.
///
/// ```
/// SharedStages.Half half = stages.next();
/// write(half.own());
/// half.publish(); // all ranks have written
/// read(half.of(0), half.of(1));
/// ```
///
/// Ranks wait for each other's work on the device, and not on the CPU: behind its halves a stage has a
/// number for each other rank, the round in which that rank has written last. A stream writes it, and
/// the stream of the stage's rank waits for it. Unlike for an event, the wait may be launched first,
/// so `publish` needs no barrier on the host; and it can be ended ([#endWaits]).
///
/// A rank writes to a half again two rounds later. By then its stream has waited for what all ranks wrote
/// in the round between, and they wrote that after they had read this half. So no rank waits for
/// readers.
///
/// Behind the numbers a stage has a byte for each rank. A rank sets its byte in the stages of the others
/// when it has read for the last time. This needs no host, whose collectives may have ended by then.
final class SharedStages {
    static final int HALVES = 2;

    /// Tells apart ranks of this process, whose memory needs no handle.
    private static final long PROCESS = new SecureRandom().nextLong();

    private static final int MESSAGE_BYTES = 2 * Long.BYTES + CudaApi.IPC_HANDLE_BYTES;

    /// More than all rounds that can be launched at a time, and far from where numbers begin again.
    private static final int ROUNDS_AHEAD = 1 << 30;

    private final CudaDevice device;
    private final DeviceContext context;
    private final long stream;
    private final int rank;
    private final long halfBytes;
    private final long ownMemory;

    /// By rank.
    private final long[] memory;

    private final List<Long> openedMemory = new ArrayList<>();

    /// For writes that do not wait for the work of the set.
    private final long sideStream;

    /// Read by the thread that ends waits.
    private volatile int rounds;

    /// All ranks create theirs at the same time.
    ///
    /// @param halfBytes a multiple of 256, for the alignment of what follows
    SharedStages(CudaDevice device, DeviceContext context, long halfBytes) {
        this.device = device;
        this.context = context;
        this.stream = context.stream().handle();
        this.rank = context.host().rank();
        this.halfBytes = halfBytes;
        int size = context.host().size();
        this.memory = new long[size];
        this.ownMemory = device.allocate(HALVES * halfBytes + notesBytes(size));
        memory[rank] = ownMemory;
        this.sideStream = device.api().createStream(0);
        byte[] message;
        try {
            clearNotes();
            message = message();
        } catch (RuntimeException e) {
            free();
            throw e;
        }
        try {
            List<byte[]> messages = context.host().allgather(message);
            for (int other = 0; other < size; other++) {
                if (other != rank) {
                    open(other, ByteBuffer.wrap(messages.get(other)));
                }
            }
        } catch (RuntimeException e) {
            closeOpened(); // other ranks may have opened this rank's own memory, so it stays
            throw e;
        }
    }

    /// The bytes of the numbers and of the readers of a stage.
    private static long notesBytes(int size) {
        return size * (Integer.BYTES + 1L);
    }

    /// Before other ranks know of the memory. On a stream of its own, as that of the set may wait for
    /// the program.
    private void clearNotes() {
        device.api().fill(written(rank, 0), (byte) 0, notesBytes(memory.length), sideStream);
        device.api().synchronizeStream(sideStream);
    }

    /// The address of the number in the stage of `other` that says which round `writer` has written.
    private long written(int other, int writer) {
        return memory[other] + HALVES * halfBytes + (long) writer * Integer.BYTES;
    }

    /// The address of the bytes that say which ranks no longer read the stage of `other`.
    private long readers(int other) {
        return written(other, memory.length);
    }

    long halfBytes() {
        return halfBytes;
    }

    /// What other ranks need to read this rank's stage.
    private byte[] message() {
        ByteBuffer message = ByteBuffer.allocate(MESSAGE_BYTES);
        message.putLong(PROCESS);
        message.putLong(ownMemory);
        message.put(device.api().memoryHandle(ownMemory));
        return message.array();
    }

    private void open(int other, ByteBuffer message) {
        boolean sameProcess = message.getLong() == PROCESS;
        long address = message.getLong();
        if (sameProcess) {
            memory[other] = address;
            return;
        }
        byte[] handle = new byte[CudaApi.IPC_HANDLE_BYTES];
        message.get(handle);
        memory[other] = device.api().openMemory(handle);
        openedMemory.add(memory[other]);
    }

    /// The half for the next data.
    Half next() {
        int round = rounds + 1;
        rounds = round;
        return new Half(round);
    }

    /// One half of all stages.
    final class Half {
        private final int round;

        Half(int round) {
            this.round = round;
        }

        long own() {
            return of(rank);
        }

        /// The address of a rank's data.
        long of(int other) {
            return memory[other] + Math.floorMod(round, HALVES) * halfBytes;
        }

        /// This rank has launched its writes. The stream waits for those of all ranks.
        void publish() {
            CudaApi api = device.api();
            for (int other = 0; other < memory.length; other++) {
                if (other != rank) {
                    api.writeValue(stream, written(other, rank), round);
                }
            }
            for (int other = 0; other < memory.length; other++) {
                if (other != rank) {
                    api.waitForValue(stream, written(rank, other), round);
                }
            }
        }
    }

    /// Ends all waits of this rank for others, as if they had written. Any thread may call it. A rank
    /// that still writes may overwrite a number; call it again then. That rank must not end these waits
    /// itself: this one may not have failed its operations yet, and would take what it reads as valid.
    void endWaits() {
        int later = rounds + ROUNDS_AHEAD;
        for (int other = 0; other < memory.length; other++) {
            if (other != rank) {
                device.api().writeValue(sideStream, written(rank, other), later);
            }
        }
    }

    /// Tells the other ranks, after the work on the stream, that this rank reads their stages no more.
    void leave() {
        for (int other = 0; other < memory.length; other++) {
            device.api().fill(readers(other) + rank, (byte) 1, 1, stream);
        }
    }

    /// Frees the memory when all ranks have left it, or their processes have ended. If one has not until `deadline`, it stays allocated.
    /// The stream has no work.
    void close(long deadline) {
        closeOpened();
        if (awaitReaders(deadline)) {
            free();
        }
    }

    private boolean awaitReaders(long deadline) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment left = arena.allocate(memory.length);
            do {
                device.api().copy(left.address(), readers(rank), memory.length, stream);
                device.api().synchronizeStream(stream);
                if (IntStream.range(0, memory.length)
                        .allMatch(
                                other ->
                                        left.get(ValueLayout.JAVA_BYTE, other) != 0
                                                || hasEnded(other))) {
                    return true;
                }
                LockSupport.parkNanos(CudaIpcBackend.POLL_WAIT.toNanos());
            } while (System.nanoTime() - deadline < 0);
            return false;
        }
    }

    private boolean hasEnded(int other) {
        return CudaIpcProvider.process(context.places().get(other)).hasEnded();
    }

    private void closeOpened() {
        openedMemory.forEach(address -> device.api().closeMemory(address));
    }

    private void free() {
        device.api().destroyStream(sideStream);
        device.api().free(ownMemory);
    }
}
