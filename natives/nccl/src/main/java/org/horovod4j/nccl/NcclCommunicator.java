package org.horovod4j.nccl;

import org.horovod4j.HorovodException;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/// A communicator of NCCL: one for each process set and device.
///
/// It does not block: NCCL works in the background, and [#call] asks until it is done. So another
/// thread can abort the communicator between two of these short calls, as its memory is freed then.
final class NcclCommunicator {
    /// How long [#abort] waits for a call of another thread. A call takes longer only if the device has
    /// too much work to take more, and aborting is what ends that.
    private static final long ABORT_WAIT_MILLIS = 1000;

    private static final int SPINS = 10_000;

    private final LibNccl nccl;

    /// Throws if a rank is lost.
    private final Runnable liveness;

    private final Lock lock = new ReentrantLock();
    private volatile long handle;

    /// Forms a communicator. All ranks do so, with the same id.
    ///
    /// @param liveness throws if a rank is lost
    /// @throws HorovodException when NCCL cannot form it
    NcclCommunicator(LibNccl nccl, byte[] uniqueId, int rank, int size, Runnable liveness) {
        this.nccl = nccl;
        this.liveness = liveness;
        this.handle = nccl.initRank(size, uniqueId, rank);
        await("ncclCommInitRankConfig");
    }

    /// A function of NCCL that takes this communicator.
    @FunctionalInterface
    interface Call {
        int run(long communicator);
    }

    /// Calls a function, and waits until NCCL has launched its work.
    ///
    /// @throws HorovodException when it fails, or the communicator was aborted
    void call(String function, Call call) {
        int result = once(function, call);
        if (result == LibNccl.IN_PROGRESS) {
            await(function);
        }
    }

    /// Calls functions that belong together, and waits until NCCL has launched their work.
    void group(String function, Runnable calls) {
        lock.lock();
        try {
            open();
            check("ncclGroupStart", nccl.groupStart.call());
            int result;
            try {
                calls.run();
            } finally {
                // ends the group also if a call has thrown; its exception says why
                result = nccl.groupEnd.call();
            }
            check(function, result);
        } finally {
            lock.unlock();
        }
        await(function);
    }

    /// Calls a function inside [#group].
    void callInGroup(String function, Call call) {
        once(function, call);
    }

    private int once(String function, Call call) {
        lock.lock();
        try {
            int result = call.run(open());
            check(function, result);
            return result;
        } finally {
            lock.unlock();
        }
    }

    /// Waits until NCCL has done in the background what a call has begun. The first collective connects
    /// the ranks, which a rank that is lost would hold up for ever.
    ///
    /// @throws HorovodException when it fails, or a rank is lost; the communicator is aborted then
    private void await(String function) {
        try {
            for (int spins = 0; once(function, nccl::asyncError) == LibNccl.IN_PROGRESS; spins++) {
                liveness.run();
                if (spins < SPINS) {
                    Thread.onSpinWait();
                } else {
                    Thread.yield();
                }
            }
        } catch (RuntimeException e) {
            abort();
            throw e;
        }
    }

    private void check(String function, int result) {
        if (result != LibNccl.SUCCESS && result != LibNccl.IN_PROGRESS) {
            throw nccl.failure(function, result, handle);
        }
    }

    private long open() {
        long open = handle;
        if (open == 0) {
            throw new HorovodException(
                    "the NCCL communicator was aborted, as a rank is lost or has failed");
        }
        return open;
    }

    /// Throws if work in the background has failed.
    void check() {
        lock.lock();
        try {
            if (handle != 0) {
                check("a collective of NCCL", nccl.asyncError(handle));
            }
        } finally {
            lock.unlock();
        }
    }

    /// Ends all work that was launched, and frees the communicator.
    void abort() {
        boolean locked = false;
        try {
            locked = lock.tryLock(ABORT_WAIT_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
        try {
            long open = handle;
            handle = 0;
            if (open != 0) {
                // its result says nothing that the reason of the abort does not say
                int _ = nccl.abort.call(open);
            }
        } finally {
            if (locked) {
                lock.unlock();
            }
        }
    }

    /// Frees the communicator. Its work is complete.
    void close() {
        lock.lock();
        try {
            long open = handle;
            handle = 0;
            if (open != 0) {
                check("ncclCommDestroy", nccl.destroy.call(open));
            }
        } finally {
            lock.unlock();
        }
    }
}
