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

/// Device memory of each rank that all ranks of the set can read, with the events that order access.
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
/// Ranks wait for each other's work on the device, by events, and not on the CPU. An event must be
/// recorded before another rank lets its stream wait for it; `publish` has a barrier on the host for
/// that.
///
/// A rank writes to a half again two rounds later. By then its stream has waited for what all ranks wrote
/// in the round between, and they wrote that after they had read this half. So no rank waits for
/// readers.
///
/// Behind its halves a stage has a byte for each rank. A rank sets its byte in the stages of the others
/// when it has read for the last time. This needs no host, whose collectives may have ended by then.
final class SharedStages {
    static final int HALVES = 2;

    /// Tells apart ranks of this process, whose memory needs no handle.
    private static final long PROCESS = new SecureRandom().nextLong();

    private static final int MESSAGE_BYTES =
            2 * Long.BYTES
                    + CudaApi.IPC_HANDLE_BYTES
                    + HALVES * (Long.BYTES + CudaApi.IPC_HANDLE_BYTES);

    private final CudaDevice device;
    private final DeviceContext context;
    private final long stream;
    private final int rank;
    private final long halfBytes;
    private final long ownMemory;

    /// By rank.
    private final long[] memory;

    /// By rank and half.
    private final long[][] writtenEvents;

    private final List<Long> openedMemory = new ArrayList<>();
    private final List<Long> openedEvents = new ArrayList<>();
    private long rounds;

    /// All ranks create theirs at the same time.
    SharedStages(CudaDevice device, DeviceContext context, long halfBytes) {
        this.device = device;
        this.context = context;
        this.stream = context.stream().handle();
        this.rank = context.host().rank();
        this.halfBytes = halfBytes;
        int size = context.host().size();
        this.memory = new long[size];
        this.writtenEvents = new long[size][HALVES];
        this.ownMemory = device.allocate(HALVES * halfBytes + size);
        memory[rank] = ownMemory;
        byte[] message;
        try {
            clearReaders();
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

    /// Before other ranks know of the memory. On a stream of its own, as this one may wait for the
    /// program.
    private void clearReaders() {
        long clearing = device.api().createStream(0);
        try {
            device.api().fill(readers(rank), (byte) 0, memory.length, clearing);
            device.api().synchronizeStream(clearing);
        } finally {
            device.api().destroyStream(clearing);
        }
    }

    /// The address of the bytes that say which ranks no longer read the stage of `other`.
    private long readers(int other) {
        return memory[other] + HALVES * halfBytes;
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
        for (int half = 0; half < HALVES; half++) {
            writtenEvents[rank][half] = putEvent(message);
        }
        return message.array();
    }

    private long putEvent(ByteBuffer message) {
        long event = device.api().createEvent(CudaApi.EVENT_NO_TIMING | CudaApi.EVENT_INTERPROCESS);
        message.putLong(event);
        message.put(device.api().eventHandle(event));
        return event;
    }

    private void open(int other, ByteBuffer message) {
        boolean sameProcess = message.getLong() == PROCESS;
        long address = message.getLong();
        byte[] handle = handle(message);
        if (sameProcess) {
            memory[other] = address;
        } else {
            memory[other] = device.api().openMemory(handle);
            openedMemory.add(memory[other]);
        }
        for (int half = 0; half < HALVES; half++) {
            writtenEvents[other][half] = openEvent(message, sameProcess);
        }
    }

    private long openEvent(ByteBuffer message, boolean sameProcess) {
        long event = message.getLong();
        byte[] handle = handle(message);
        if (sameProcess) {
            return event;
        }
        long opened = device.api().openEvent(handle);
        openedEvents.add(opened);
        return opened;
    }

    private static byte[] handle(ByteBuffer message) {
        byte[] handle = new byte[CudaApi.IPC_HANDLE_BYTES];
        message.get(handle);
        return handle;
    }

    /// The half for the next data.
    Half next() {
        return new Half((int) (rounds++ % HALVES));
    }

    /// One half of all stages.
    final class Half {
        private final int index;

        Half(int index) {
            this.index = index;
        }

        long own() {
            return of(rank);
        }

        /// The address of a rank's data.
        long of(int other) {
            return memory[other] + index * halfBytes;
        }

        /// This rank has launched its writes. The stream waits for those of all ranks.
        void publish() {
            device.api().recordEvent(writtenEvents[rank][index], stream);
            context.host().barrier();
            for (int other = 0; other < memory.length; other++) {
                if (other != rank) {
                    device.api().waitForEvent(stream, writtenEvents[other][index]);
                }
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
        openedEvents.forEach(event -> device.api().destroyEvent(event));
        openedMemory.forEach(address -> device.api().closeMemory(address));
    }

    private void free() {
        for (long event : writtenEvents[rank]) {
            if (event != 0) {
                device.api().destroyEvent(event);
            }
        }
        device.api().free(ownMemory);
    }
}
