package org.horovod4j.cuda;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// The parameters of one launch. The driver copies them during the launch, so each thread uses the same
/// memory again.
final class KernelParameters {
    private static final int MAX_PARAMETERS = 16;

    /// What a kernel takes, and some space for alignment.
    private static final int BYTES = 4096 + 128;

    private static final ThreadLocal<KernelParameters> OF_THREAD =
            ThreadLocal.withInitial(KernelParameters::new);

    private final MemorySegment addresses = Arena.ofAuto().allocate(JAVA_LONG, MAX_PARAMETERS);
    private final MemorySegment values = Arena.ofAuto().allocate(BYTES, Long.BYTES);
    private int count;
    private long end;

    private KernelParameters() {}

    /// The parameters of the calling thread, empty.
    static KernelParameters ofThread() {
        KernelParameters parameters = OF_THREAD.get();
        parameters.count = 0;
        parameters.end = 0;
        return parameters;
    }

    /// The address of each parameter.
    MemorySegment addresses() {
        return addresses;
    }

    void addLong(long value) {
        startStruct(Long.BYTES);
        putLong(value);
    }

    void addLongs(long... all) {
        for (long value : all) {
            addLong(value);
        }
    }

    void addInts(int... all) {
        for (int value : all) {
            startStruct(Integer.BYTES);
            putInt(value);
        }
    }

    /// A parameter whose fields follow.
    void startStruct(int alignment) {
        end = Math.ceilDiv(end, (long) alignment) * alignment;
        addresses.setAtIndex(JAVA_LONG, count++, values.address() + end);
    }

    void putLong(long value) {
        values.set(JAVA_LONG, end, value);
        end += Long.BYTES;
    }

    /// Entries `from` to `to` of `all`, in an array of `length` entries.
    void putLongs(long[] all, int from, int to, int length) {
        MemorySegment.copy(all, from, values, JAVA_LONG, end, to - from);
        end += (long) length * Long.BYTES;
    }

    void putDouble(double value) {
        values.set(JAVA_DOUBLE, end, value);
        end += Double.BYTES;
    }

    void putInt(int value) {
        values.set(JAVA_INT, end, value);
        end += Integer.BYTES;
    }
}
