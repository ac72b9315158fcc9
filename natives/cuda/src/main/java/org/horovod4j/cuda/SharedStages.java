package org.horovod4j.cuda;

import org.horovod4j.DeviceStream;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceWait;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// Device memory of each rank that all ranks of the set can read, with the numbers that order access.
///
/// A rank writes its data to its *stage*, and reads the stages of all ranks. A stage has several slots,
/// which are used in turn, one in each round:
///
/// ```
/// SharedStages.Round round = stages.next();
/// write(round.own()); // on the stream that writes
/// round.publish(); // all ranks have written
/// read(round.of(0), round.of(1)); // on the stream that reads
/// round.end();
/// ```
///
/// One stream writes and another one reads, so what a rank writes does not wait for what it reads. Ranks that
/// share a GPU get time slices of it: in one a rank writes the data of several rounds, and reads those
/// of the others. If each round waited for the one before, each would cost a time slice.
///
/// Ranks wait for each other's work on the device, and not on the CPU. After its slots a stage has
/// two sequence numbers for each rank and round: that the rank has written it, and that it has read it. A
/// stream of that rank writes them, and the streams of the stage's owner wait for them. Unlike for an event, the wait may
/// be launched first, so a round needs no barrier on the host; and it can be ended.
///
/// Behind the sequence numbers a stage has a byte for each rank. A rank sets its byte in the stages of the
/// others when it has read for the last time. This needs no host, whose collectives may have ended by then.
final class SharedStages {
    /// Tells apart ranks of this process, whose memory needs no handle.
    private static final long PROCESS = new SecureRandom().nextLong();

    private static final int MESSAGE_BYTES = 2 * Long.BYTES + CudaApi.IPC_HANDLE_BYTES;

    /// Rounds use the memory of this many sequence numbers in turn. It is more than all rounds that can be
    /// launched at a time: a round is several launches, and a stream of CUDA takes about a thousand. So if a
    /// wait was ended, a rank that writes the number of an earlier round does not overwrite what ended it.
    static final int NUMBERS = 1024;

    /// Of rounds that were written, and of rounds that were read.
    private static final int KINDS = 2;

    private static final int WRITTEN = 0;
    private static final int READ = 1;

    /// Further than any round that is launched, and far from where numbers begin again.
    private static final int ROUNDS_AHEAD = 1 << 30;

    private final CudaDevice device;
    private final DeviceContext context;
    private final long writeStream;
    private final long readStream;
    private final int rank;
    private final int slots;
    private final long slotBytes;
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
    /// @param readStream reads what the ranks have written; the stream of the context writes
    /// @param slots of a stage, an even number
    /// @param slotBytes a multiple of 256, for the alignment of what follows
    SharedStages(
            CudaDevice device,
            DeviceContext context,
            DeviceStream readStream,
            int slots,
            long slotBytes) {
        this.device = device;
        this.context = context;
        this.writeStream = context.stream().handle();
        this.readStream = readStream.handle();
        this.rank = context.host().rank();
        this.slots = slots;
        this.slotBytes = slotBytes;
        int size = context.host().size();
        this.memory = new long[size];
        this.sideStream = device.api().createStream(0);
        byte[] message;
        try {
            this.ownMemory = device.allocate(slots * slotBytes + controlBytes(size));
        } catch (RuntimeException e) {
            device.api().destroyStream(sideStream);
            throw e;
        }
        memory[rank] = ownMemory;
        try {
            clearControl();
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
            device.api().destroyStream(sideStream);
            throw e;
        }
    }

    /// The bytes of the sequence numbers and of the flags of departed ranks.
    private static long controlBytes(int size) {
        return numbersBytes(size) + size;
    }

    /// Before other ranks know of the memory. On a stream of its own, as that of the set may wait for
    /// the program.
    private void clearControl() {
        device.api().fill(numbers(rank, 0, 0), (byte) 0, controlBytes(memory.length), sideStream);
        device.api().synchronizeStream(sideStream);
    }

    /// The address of the number of `round` in the stage of `waiter` that `writer` writes.
    private long number(int waiter, int writer, int kind, int round) {
        return numbers(waiter, writer, kind) + (long) Math.floorMod(round, NUMBERS) * Integer.BYTES;
    }

    /// The address of the numbers of one kind in the stage of `waiter` that `writer` writes.
    private long numbers(int waiter, int writer, int kind) {
        long index = (long) kind * memory.length + writer;
        return memory[waiter] + slots * slotBytes + index * NUMBERS * Integer.BYTES;
    }

    private static long numbersBytes(int size) {
        return (long) KINDS * size * NUMBERS * Integer.BYTES;
    }

    /// The address of the bytes that say which ranks no longer read the stage of `other`.
    private long departedFlags(int other) {
        return numbers(other, 0, 0) + numbersBytes(memory.length);
    }

    long slotBytes() {
        return slotBytes;
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

    /// The next slot. Before the first slot of a half of them, the stream that writes waits until all ranks
    /// have read that half. In the first rounds this wait ends at once, as numbers start at 0.
    Round next() {
        int round = rounds + 1;
        rounds = round;
        if (isLastOfHalf(round - 1)) {
            await(writeStream, READ, round - 1 - half());
        }
        return new Round(round);
    }

    private int half() {
        return slots / 2;
    }

    private boolean isLastOfHalf(int round) {
        return Math.floorMod(round, half()) == 0;
    }

    /// Tells all ranks, after the work on `stream`, that this rank has written or read a round.
    private void signal(long stream, int kind, int round) {
        for (int other = 0; other < memory.length; other++) {
            device.api().writeValue(stream, number(other, rank, kind, round), round);
        }
    }

    /// Lets `stream` wait until all ranks have written or read a round.
    private void await(long stream, int kind, int round) {
        for (int other = 0; other < memory.length; other++) {
            device.api().waitForValue(stream, number(rank, other, kind, round), round);
        }
    }

    /// One slot of all stages, for one exchange.
    final class Round {
        private final int number;

        Round(int number) {
            this.number = number;
        }

        long own() {
            return of(rank);
        }

        /// The address of a rank's data.
        long of(int other) {
            return memory[other] + Math.floorMod(number - 1, slots) * slotBytes;
        }

        /// This rank has launched its writes. The stream that reads waits for those of all ranks.
        void publish() {
            signal(writeStream, WRITTEN, number);
            await(readStream, WRITTEN, number);
        }

        /// This rank has launched its reads.
        void end() {
            if (isLastOfHalf(number)) {
                signal(readStream, READ, number);
            }
        }
    }

    /// Ends this rank's waits for writes of others, also waits that are launched later. What it
    /// reads is not valid then. Any thread may call it.
    ///
    /// Waits for this rank's own writes stay: these wait for the program, which may still use the
    /// tensors that are written next.
    void endWaitsForWrites() {
        for (int other = 0; other < memory.length; other++) {
            if (other != rank) {
                endWaits(rank, other, WRITTEN);
            }
        }
    }

    /// Ends the waits of all others for reads of this rank: it takes nothing as valid that it reads.
    void endOthersWaitsForReads() {
        for (int other = 0; other < memory.length; other++) {
            if (other != rank) {
                endWaits(other, rank, READ);
            }
        }
    }

    /// Ends this rank's waits for reads of `other`, which takes nothing as valid that it reads.
    void endWaitsForReads(int other) {
        endWaits(rank, other, READ);
    }

    /// Ends the waits in the stage of `waiter` for what `writer` writes there.
    private void endWaits(int waiter, int writer, int kind) {
        // all bytes of a number are the same, so it is about, not exactly, this far ahead
        byte later = (byte) ((rounds + ROUNDS_AHEAD) >>> 24);
        device.api()
                .fill(
                        numbers(waiter, writer, kind),
                        later,
                        (long) NUMBERS * Integer.BYTES,
                        sideStream);
    }

    /// Tells the other ranks, after the work on all streams, that this rank no longer uses their stages.
    void leave() {
        device.api().synchronizeStream(sideStream); // its writes wait for nothing
        for (int other = 0; other < memory.length; other++) {
            device.api().fill(departedFlags(other) + rank, (byte) 1, 1, readStream);
        }
    }

    /// Frees the memory when all ranks have left it, or their processes have ended. If a rank has not left by
    /// `deadline`, the memory stays allocated.
    /// The streams have no work.
    void close(long deadline) {
        closeOpened();
        if (awaitDepartures(deadline)) {
            free();
        }
    }

    private boolean awaitDepartures(long deadline) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flags = arena.allocate(memory.length);
            return DeviceWait.await(() -> haveAllLeft(flags), deadline - System.nanoTime());
        }
    }

    /// @param flags memory for those of all ranks
    private boolean haveAllLeft(MemorySegment flags) {
        device.api().copy(flags.address(), departedFlags(rank), memory.length, sideStream);
        device.api().synchronizeStream(sideStream);
        return IntStream.range(0, memory.length)
                .allMatch(other -> flags.get(ValueLayout.JAVA_BYTE, other) != 0 || hasEnded(other));
    }

    /// Whether the process of `other` has ended.
    boolean hasEnded(int other) {
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
