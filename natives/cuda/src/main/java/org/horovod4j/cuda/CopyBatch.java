package org.horovod4j.cuda;

import java.util.Arrays;

/// Copies of arrays in device memory that run together: up to [#MAX_COPIES] in one launch.
///
/// One thread at a time uses an instance. It can be filled once and run many times.
final class CopyBatch {
    /// The copies of one launch, whose table is a parameter of the kernel.
    static final int MAX_COPIES = 144;

    static final int ELEMENTS_PER_BLOCK = 16 * 1024;
    static final int BYTES_PER_BLOCK = 4 * ELEMENTS_PER_BLOCK;

    private static final int THREADS = 256;

    private final KernelModule module;
    private final String kernel;
    private final int perBlock;
    private final double factor;
    private long[] sources = new long[MAX_COPIES];
    private long[] targets = new long[MAX_COPIES];
    private long[] elements = new long[MAX_COPIES];
    private int count;

    CopyBatch(KernelModule module, String kernel, int perBlock, double factor) {
        this.module = module;
        this.kernel = kernel;
        this.perBlock = perBlock;
        this.factor = factor;
    }

    /// Adds a copy. Source and target do not overlap, or they are the same.
    ///
    /// @param elementCount bytes, or elements of a conversion
    void add(long source, long target, long elementCount) {
        if (elementCount == 0) {
            return;
        }
        if (count == sources.length) {
            sources = Arrays.copyOf(sources, 2 * count);
            targets = Arrays.copyOf(targets, 2 * count);
            elements = Arrays.copyOf(elements, 2 * count);
        }
        sources[count] = source;
        targets[count] = target;
        elements[count] = elementCount;
        count++;
    }

    /// Removes all copies.
    void clear() {
        count = 0;
    }

    /// Starts all copies.
    void run(long stream) {
        for (int from = 0; from < count; from += MAX_COPIES) {
            run(from, Math.min(count, from + MAX_COPIES), stream);
        }
    }

    private void run(int from, int to, long stream) {
        KernelParameters parameters = KernelParameters.ofThread();
        parameters.startStruct(Long.BYTES);
        parameters.putLongs(sources, from, to, MAX_COPIES);
        parameters.putLongs(targets, from, to, MAX_COPIES);
        parameters.putLongs(elements, from, to, MAX_COPIES);
        long blocks = 0;
        for (int i = from; i < from + MAX_COPIES; i++) {
            parameters.putInt(Math.toIntExact(blocks));
            if (i < to) {
                blocks += Math.ceilDiv(elements[i], (long) perBlock);
            }
        }
        parameters.putInt(to - from);
        parameters.startStruct(Double.BYTES);
        parameters.putDouble(factor);
        module.launch(kernel, Math.toIntExact(blocks), THREADS, parameters, stream);
    }
}
