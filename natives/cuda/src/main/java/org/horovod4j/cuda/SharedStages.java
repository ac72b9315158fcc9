package org.horovod4j.cuda;

import org.horovod4j.spi.DeviceContext;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;

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
final class SharedStages implements AutoCloseable {
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
        this.ownMemory = device.api().allocate(HALVES * halfBytes);
        List<byte[]> messages = context.host().allgather(message());
        for (int other = 0; other < size; other++) {
            if (other != rank) {
                open(other, ByteBuffer.wrap(messages.get(other)));
            }
        }
        memory[rank] = ownMemory;
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

    /// Frees the memory. No rank uses it any more; a rank that is lost does not hinder that.
    @Override
    public void close() {
        device.api().synchronizeStream(stream);
        openedEvents.forEach(event -> device.api().destroyEvent(event));
        openedMemory.forEach(address -> device.api().closeMemory(address));
        for (int half = 0; half < HALVES; half++) {
            device.api().destroyEvent(writtenEvents[rank][half]);
        }
        device.api().free(ownMemory);
    }
}
