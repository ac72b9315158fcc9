package org.horovod4j.cuda;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;

/// The kernels of Horovod4J on one device. All run on a stream and return at once.
///
/// Each has the arithmetic of its CPU kernel in `org.horovod4j.collectives`, so that a tensor gets the
/// same bits on a GPU. A program that uses the first kernel of a file waits while the driver compiles
/// that file, which the driver keeps in its cache for the next start.
final class CudaKernels {
    /// The most arrays of one [#reduce].
    static final int MAX_SOURCES = 64;

    private static final int THREADS = 256;

    /// Blocks of threads per multiprocessor in a loop over an array; more do not run at a time.
    private static final int BLOCKS_PER_MULTIPROCESSOR = 8;

    /// The elements that a thread of a reduction processes at once, at least.
    private static final int REDUCE_PACK = 2;

    private static final int ADASUM_BLOCK = 2048;
    private static final int ADASUM_PRODUCTS_BYTES = 5 * Double.BYTES;
    private static final int WARP = 32;

    private static final int TOPK_DIGIT_BITS = 11;
    private static final int TOPK_SELECTION_BYTES = 2 * Long.BYTES;
    private static final int TOPK_DIGITS_BYTES = Integer.BYTES << TOPK_DIGIT_BITS;
    private static final int TOPK_MAX_BLOCKS = 1024;
    private static final int TOPK_COUNTS_BYTES = TOPK_MAX_BLOCKS * Integer.BYTES;

    /// The device memory that [#selectLargest] needs.
    static final long SELECTION_SCRATCH_BYTES =
            TOPK_SELECTION_BYTES + TOPK_DIGITS_BYTES + 2L * TOPK_COUNTS_BYTES;

    private final int maxBlocks;
    private final KernelModule copies;
    private final KernelModule reductions;
    private final KernelModule adasum;
    private final KernelModule selections;

    CudaKernels(CudaDevice device) {
        this.maxBlocks = device.multiprocessors() * BLOCKS_PER_MULTIPROCESSOR;
        this.copies = new KernelModule(device, "copy");
        this.reductions = new KernelModule(device, "reduce");
        this.adasum = new KernelModule(device, "adasum");
        this.selections = new KernelModule(device, "topk");
    }

    /// Copies of many arrays as they are, in as few launches as possible. Their sizes are in bytes.
    CopyBatch copies() {
        return new CopyBatch(copies, "hvd_copy_bytes", CopyBatch.BYTES_PER_BLOCK, 1);
    }

    /// Copies that multiply elements by `factor` in the type of the source, and convert them. Their
    /// sizes are in elements.
    ///
    /// @throws IllegalArgumentException unless the types are the same, or one is a float of two bytes
    ///     and the other a larger float
    CopyBatch conversions(DataType from, DataType to, double factor) {
        boolean converts =
                from.isFloatingPoint() && to.isFloatingPoint() && isHalf(from) != isHalf(to);
        if (from == DataType.BOOL || (from != to && !converts)) {
            throw new IllegalArgumentException(
                    "there is no scaled copy of %s as %s on a GPU".formatted(from, to));
        }
        return new CopyBatch(
                copies,
                "hvd_convert_%s_%s".formatted(from, to),
                CopyBatch.ELEMENTS_PER_BLOCK,
                factor);
    }

    /// Sets elements of 1, 2, 4 or 8 bytes to the low bytes of `value`.
    void fill(long target, long count, int elementBytes, long value, long stream) {
        if (count == 0) {
            return;
        }
        KernelParameters parameters = KernelParameters.ofThread();
        parameters.addLongs(target, count, value);
        parameters.addInts(elementBytes);
        copies.launch("hvd_fill", blocks(count), THREADS, parameters, stream);
    }

    private static boolean isHalf(DataType dataType) {
        return dataType == DataType.FLOAT16 || dataType == DataType.BFLOAT16;
    }

    /// `target = sources[0] op sources[1] op …` for `count` elements of each, in this order, with the
    /// scale before and after. `target` may be one of the sources. AVERAGE divides by `divisor`.
    void reduce(
            DataType dataType,
            ReduceOp op,
            Scale scale,
            int divisor,
            long target,
            long[] sources,
            long count,
            long stream) {
        if (sources.length < 1 || sources.length > MAX_SOURCES) {
            throw new IllegalArgumentException(
                    "a reduction on a GPU has 1 to %d sources, got %d"
                            .formatted(MAX_SOURCES, sources.length));
        }
        if (op == ReduceOp.ADASUM) {
            throw new IllegalArgumentException(op + " is not computed element by element");
        }
        if (count == 0) {
            return;
        }
        KernelParameters parameters = KernelParameters.ofThread();
        parameters.addLong(target);
        parameters.startStruct(Long.BYTES);
        for (int i = 0; i < MAX_SOURCES; i++) {
            parameters.putLong(i < sources.length ? sources[i] : 0);
        }
        parameters.putInt(sources.length);
        parameters.addLong(count);
        parameters.startStruct(Long.BYTES);
        parameters.putDouble(scale.prescale());
        parameters.putDouble(scale.postscale());
        parameters.putLong(divisor);
        parameters.putInt(op.ordinal());
        reductions.launch(
                "hvd_reduce_" + dataType,
                blocks(Math.ceilDiv(count, (long) REDUCE_PACK)),
                THREADS,
                parameters,
                stream);
    }

    /// Multiplies an array in place.
    void scale(DataType dataType, long values, long count, double factor, long stream) {
        reduce(
                dataType,
                ReduceOp.SUM,
                Scale.before(factor),
                1,
                values,
                new long[] {values},
                count,
                stream);
    }

    /// The device memory that [#adasum] needs for vectors of `count` elements.
    static long adasumScratchBytes(long count) {
        return (1 + Math.ceilDiv(count, (long) ADASUM_BLOCK)) * ADASUM_PRODUCTS_BYTES;
    }

    /// Combines two vectors by Adasum. `target` may be one of them.
    ///
    /// @param scratch device memory of [#adasumScratchBytes], which only this stream uses
    void adasum(
            DataType dataType,
            long target,
            long left,
            long right,
            long count,
            long scratch,
            long stream) {
        if (!dataType.isFloatingPoint()) {
            throw new IllegalArgumentException(
                    "Adasum needs a floating-point type, got %s".formatted(dataType));
        }
        if (count == 0) {
            return;
        }
        long blocks = Math.ceilDiv(count, (long) ADASUM_BLOCK);
        long blockProducts = scratch + ADASUM_PRODUCTS_BYTES;
        int warps = THREADS / WARP;
        KernelParameters products = KernelParameters.ofThread();
        products.addLongs(left, right, count, blockProducts);
        adasum.launch(
                "hvd_adasum_products_" + dataType,
                Math.toIntExact(Math.ceilDiv(blocks, (long) warps)),
                THREADS,
                products,
                stream);
        KernelParameters sum = KernelParameters.ofThread();
        sum.addLongs(blockProducts, blocks, scratch);
        adasum.launch("hvd_adasum_sum", 1, 1, sum, stream);
        KernelParameters combination = KernelParameters.ofThread();
        combination.addLongs(target, left, right, count, scratch);
        adasum.launch(
                "hvd_adasum_combine_" + dataType, blocks(count), THREADS, combination, stream);
    }

    /// Writes the positions and the values of the `selected` largest magnitudes, in ascending order of
    /// positions; of equal ones the first.
    ///
    /// @param dataType `float32` or `float64`
    /// @param positions device memory for `selected` values of `int32`
    /// @param picked device memory for `selected` values
    /// @param scratch device memory of [#SELECTION_SCRATCH_BYTES], which only this stream uses
    void selectLargest(
            DataType dataType,
            long values,
            int count,
            int selected,
            long positions,
            long picked,
            long scratch,
            long stream) {
        if (dataType != DataType.FLOAT32 && dataType != DataType.FLOAT64) {
            throw new IllegalArgumentException(
                    "the largest values are selected of float32 and float64, not of %s"
                            .formatted(dataType));
        }
        if (selected < 0 || selected > count) {
            throw new IllegalArgumentException(
                    "cannot select %d of %d values".formatted(selected, count));
        }
        if (selected == 0) {
            return;
        }
        long digits = scratch + TOPK_SELECTION_BYTES;
        long above = digits + TOPK_DIGITS_BYTES;
        long equal = above + TOPK_COUNTS_BYTES;
        KernelParameters begin = KernelParameters.ofThread();
        begin.addLongs(scratch, selected, digits);
        selections.launch("hvd_topk_begin", 1, THREADS, begin, stream);
        int shift = dataType.byteSize() * Byte.SIZE;
        while (shift > 0) {
            int bits = Math.min(TOPK_DIGIT_BITS, shift);
            shift -= bits;
            KernelParameters counting = KernelParameters.ofThread();
            counting.addLongs(values, count, scratch);
            counting.addInts(shift, bits);
            counting.addLong(digits);
            selections.launch(
                    "hvd_topk_count_" + dataType, blocks(count), THREADS, counting, stream);
            KernelParameters digit = KernelParameters.ofThread();
            digit.addLong(scratch);
            digit.addInts(shift, bits);
            digit.addLong(digits);
            selections.launch("hvd_topk_digit", 1, THREADS, digit, stream);
        }
        int chunk = Math.max(THREADS, Math.ceilDiv(count, TOPK_MAX_BLOCKS));
        int blocks = Math.ceilDiv(count, chunk);
        KernelParameters tally = KernelParameters.ofThread();
        tally.addLongs(values, count, chunk, scratch, above, equal);
        selections.launch("hvd_topk_tally_" + dataType, blocks, THREADS, tally, stream);
        KernelParameters offsets = KernelParameters.ofThread();
        offsets.addLongs(above, equal);
        offsets.addInts(blocks);
        selections.launch("hvd_topk_offsets", 1, 1, offsets, stream);
        KernelParameters write = KernelParameters.ofThread();
        write.addLongs(values, count, chunk, scratch, above, equal, positions, picked);
        selections.launch("hvd_topk_write_" + dataType, blocks, THREADS, write, stream);
    }

    /// `target = left + right` for `float32` and `float64`.
    void add(DataType dataType, long left, long right, long target, long count, long stream) {
        if (count > 0) {
            KernelParameters parameters = KernelParameters.ofThread();
            parameters.addLongs(left, right, target, count);
            selections.launch(
                    "hvd_topk_add_" + dataType, blocks(count), THREADS, parameters, stream);
        }
    }

    /// Adds values to those at `positions`, which all differ.
    void addAt(
            DataType dataType, long target, long positions, long values, long count, long stream) {
        if (count > 0) {
            KernelParameters parameters = KernelParameters.ofThread();
            parameters.addLongs(target, positions, values, count);
            selections.launch(
                    "hvd_topk_scatter_" + dataType, blocks(count), THREADS, parameters, stream);
        }
    }

    /// Sets the values at `positions` to zero.
    void clearAt(DataType dataType, long target, long positions, long count, long stream) {
        if (count > 0) {
            KernelParameters parameters = KernelParameters.ofThread();
            parameters.addLongs(target, positions, count);
            selections.launch(
                    "hvd_topk_clear_" + dataType, blocks(count), THREADS, parameters, stream);
        }
    }

    /// Sets infinities and NaNs to zero.
    void clearNotFinite(DataType dataType, long values, long count, long stream) {
        if (count > 0) {
            KernelParameters parameters = KernelParameters.ofThread();
            parameters.addLongs(values, count);
            selections.launch(
                    "hvd_topk_finite_" + dataType, blocks(count), THREADS, parameters, stream);
        }
    }

    /// Divides `float32` or `float64` in place.
    void divide(DataType dataType, long values, long count, int divisor, long stream) {
        if (count > 0) {
            KernelParameters parameters = KernelParameters.ofThread();
            parameters.addLongs(values, count, divisor);
            selections.launch(
                    "hvd_topk_divide_" + dataType, blocks(count), THREADS, parameters, stream);
        }
    }

    private int blocks(long threads) {
        return (int) Math.min(maxBlocks, Math.ceilDiv(threads, (long) THREADS));
    }
}
