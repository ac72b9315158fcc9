package org.horovod4j.cuda;

import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/// The device memory of a [CudaIpcBackend]: stages that other ranks read, and memory of its own. Both
/// grow with the tensors. What was allocated before stays until the end, as earlier work may still use it.
///
/// When a rank is lost, [#abort] ends the waits of the device for other ranks.
final class IpcMemory {
    /// How many rounds a rank can be ahead of another one, at most: more than a step of most models has.
    static final int SLOTS = 16;

    /// The same for Adasum of large tensors, whose stages have slots of their size.
    private static final int LARGE_SLOTS = 2;

    /// How often a rank asks whether the process of another one has ended.
    private static final long PROCESS_POLL_NANOS = 10_000_000;

    private final CudaDevice device;
    private final DeviceContext context;
    private final DeviceDriver driver;
    private final DeviceStream writeStream;
    private final DeviceStream readStream;

    /// The most data of a round.
    private final long maxRoundBytes;

    /// All that were created. [#abort] ends the waits of all of them.
    private final List<SharedStages> stages = new CopyOnWriteArrayList<>();

    /// The largest ones for rounds of at most `maxRoundBytes`.
    private SharedStages current;

    /// The largest ones for tensors that Adasum combines as a whole.
    private @Nullable SharedStages large;

    /// The last one is the largest.
    private final List<Scratch> scratches = new ArrayList<>();

    private final Duration abortTimeout;
    private final Duration closeTimeout;
    private volatile boolean aborted;

    /// From then on only [#close] uses the stages.
    private volatile boolean closed;

    /// All ranks create theirs at the same time.
    ///
    /// @param readStream reads what the ranks have written; the stream of the context writes
    /// @param firstRoundBytes what ranks can exchange at a time, until a larger tensor comes
    /// @param maxRoundBytes what ranks can exchange at a time then; more only for Adasum
    /// @param abortTimeout how long others may take to notice that a rank is lost, after this one has
    /// @param closeTimeout how long [#close] waits for the work of the device
    IpcMemory(
            CudaDevice device,
            DeviceContext context,
            DeviceStream readStream,
            long firstRoundBytes,
            long maxRoundBytes,
            Duration abortTimeout,
            Duration closeTimeout) {
        this.device = device;
        this.context = context;
        this.driver = context.driver();
        this.writeStream = context.stream();
        this.readStream = readStream;
        this.maxRoundBytes = maxRoundBytes;
        this.abortTimeout = abortTimeout;
        this.closeTimeout = closeTimeout;
        this.current = add(SLOTS, firstRoundBytes);
    }

    private record Scratch(long address, long byteSize) {}

    /// The address of memory of this rank alone, at least this large. The next call may return the same.
    long scratch(long byteSize) {
        long before = scratches.isEmpty() ? 0 : scratches.getLast().byteSize();
        if (byteSize > before) {
            // at least twice as large, so that all smaller ones together are not larger than the
            // last
            long grown = Math.max(byteSize, 2 * before);
            scratches.add(new Scratch(device.allocate(grown), grown));
        }
        return scratches.getLast().address();
    }

    /// The stages for data of this size, which takes several rounds if it is very large. All ranks need new
    /// ones in the same call, as they exchange tensors of the same size.
    SharedStages roundsFor(long byteSize) {
        long wanted = Math.min(byteSize, maxRoundBytes);
        if (wanted > current.slotBytes()) {
            long doubled = Math.min(2 * current.slotBytes(), maxRoundBytes);
            current = add(SLOTS, Math.max(wanted, doubled));
        }
        return current;
    }

    /// The stages for data of this size, in one round.
    SharedStages wholeRoundsFor(long byteSize) {
        if (byteSize <= maxRoundBytes) {
            return roundsFor(byteSize);
        }
        SharedStages largest = large;
        if (largest == null || byteSize > largest.slotBytes()) {
            long doubled = largest == null ? 0 : 2 * largest.slotBytes();
            largest = add(LARGE_SLOTS, Math.max(byteSize, doubled));
            large = largest;
        }
        return largest;
    }

    private SharedStages add(int slots, long slotBytes) {
        SharedStages added =
                new SharedStages(device, context, readStream, slots, aligned(slotBytes));
        stages.add(added);
        return added;
    }

    static long aligned(long byteSize) {
        return Math.ceilDiv(byteSize, 256L) * 256;
    }

    /// The next round of these stages.
    ///
    /// @throws HorovodException after [#abort]
    SharedStages.Round begin(SharedStages shared) {
        if (aborted) {
            throw new HorovodException("CUDA_IPC was aborted, as a rank is lost or has failed");
        }
        return shared.next();
    }

    /// Lets later launches fail, and ends the waits of what was launched for other ranks. What they
    /// have not written is not valid then.
    ///
    /// Another survivor may not have noticed the loss yet, and takes what it reads as valid. So this rank
    /// still waits until that one has read, has aborted too, its process has ended, or the timeout has passed.
    synchronized void abort() {
        if (aborted || closed) {
            return;
        }
        aborted = true;
        try {
            stages.forEach(SharedStages::endWaitsForWrites);
            stages.forEach(SharedStages::endOthersWaitsForReads);
        } finally {
            Thread.ofPlatform().daemon().name("hvd-cuda-ipc-abort").start(this::endWaitsForReads);
        }
    }

    /// Ends the waits for ranks that no longer read.
    private void endWaitsForReads() {
        long deadline = System.nanoTime() + abortTimeout.toNanos();
        int rank = context.host().rank();
        Set<Integer> others =
                IntStream.range(0, context.host().size())
                        .filter(other -> other != rank)
                        .boxed()
                        .collect(Collectors.toSet());
        while (!closed && !others.isEmpty()) {
            boolean timedOut = System.nanoTime() - deadline > 0;
            List<Integer> ended =
                    others.stream()
                            .filter(other -> timedOut || stages.getFirst().hasEnded(other))
                            .toList();
            ended.forEach(this::endWaitsForReads);
            others.removeAll(ended);
            LockSupport.parkNanos(PROCESS_POLL_NANOS);
        }
    }

    private synchronized void endWaitsForReads(int other) {
        if (!closed) {
            stages.forEach(each -> each.endWaitsForReads(other));
        }
    }

    /// Frees memory that neither this rank nor another one uses any more.
    ///
    /// Other memory stays allocated until the process ends: of work that waits for a stream of the
    /// program that has stopped, and stages that a lost rank has not left. Freeing it could block
    /// forever, or invalidate memory that a slow rank still reads.
    void close() {
        long deadline = System.nanoTime() + closeTimeout.toNanos();
        try {
            boolean complete = awaitStreams(deadline);
            setClosed();
            if (complete) {
                stages.forEach(SharedStages::leave);
                if (awaitStreams(deadline)) {
                    stages.forEach(each -> each.close(deadline));
                    scratches.forEach(each -> device.api().free(each.address()));
                }
            }
        } finally {
            setClosed(); // after a failure of the device too
        }
    }

    private synchronized void setClosed() {
        closed = true;
    }

    /// Waits until this rank's work is complete, for some time.
    ///
    /// @return whether it is complete
    private boolean awaitStreams(long deadline) {
        return driver.record(writeStream).awaitUntil(deadline)
                && driver.record(readStream).awaitUntil(deadline);
    }
}
