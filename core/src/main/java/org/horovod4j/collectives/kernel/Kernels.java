package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.VectorShape;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// Combines, reduces, scales and divides arrays of every data type.
///
/// | type                  | arithmetic                                                           |
/// |-----------------------|----------------------------------------------------------------------|
/// | integers              | wraps around; unsigned types compare, scale and divide as such       |
/// | `float16`, `bfloat16` | in `float`, rounded once at the end (to the nearest, ties to even)   |
/// | `float32`, `float64`  | their own; as with `Math.min` and `Math.max`, NaN wins a comparison  |
/// | `bool`                | SUM and MAX are "or", PRODUCT and MIN "and"; results are 0 or 1      |
///
/// AVERAGE counts as SUM: whoever knows how many ranks took part calls [#divide] afterwards. All
/// memory lies outside the heap, at any alignment.
///
/// An instance may be shared by threads and needs no closing; a thread that calls it keeps 50 KB of
/// scratch for partial results as long as it lives.
public final class Kernels {
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    /// Fewer elements than this are quicker one by one, and a program that reduces nothing larger
    /// never spends the 30 ms that loading the Vector API takes.
    private static final int MIN_VECTOR_ELEMENTS = 64;

    private final ThreadLocal<KernelScratch> scratch = ThreadLocal.withInitial(KernelScratch::new);
    private final ScalarKernels scalar = new ScalarKernels(scratch);
    private final KernelVariant preferred;
    private final long minPreferredElements;

    private Kernels(boolean vector, long minPreferredElements) {
        this.preferred = vector ? new VectorKernels(scalar, scratch) : scalar;
        this.minPreferredElements = minPreferredElements;
    }

    /// Vectors if this JVM has the Vector API, and for arrays that are worth it.
    public static Kernels best() {
        return new Kernels(hasVectorModule(), MIN_VECTOR_ELEMENTS);
    }

    /// One element at a time.
    public static Kernels scalar() {
        return new Kernels(false, 0);
    }

    /// Vectors for arrays of any length.
    ///
    /// @throws ConfigurationException if this JVM was started without the Vector API
    public static Kernels vector() {
        if (!hasVectorModule()) {
            throw new ConfigurationException(
                    """
                    vector kernels need the module %1$s, and this JVM was started without it
                    Start it with --add-modules %1$s, or let Kernels.best() choose."""
                            .formatted(VECTOR_MODULE));
        }
        return new Kernels(true, 0);
    }

    private static boolean hasVectorModule() {
        return ModuleLayer.boot().findModule(VECTOR_MODULE).isPresent();
    }

    /// Whether the vector twin is in use, for arithmetic that is not this class's own.
    boolean usesVectors() {
        return preferred instanceof VectorKernels;
    }

    /// A line for the log at start-up: which twin is in use and how wide it is.
    ///
    /// Costs half a millisecond, as it asks the JVM for its vectors, so it is better not called for
    /// a line that nobody logs.
    public String description() {
        return switch (preferred) {
            case VectorKernels _ ->
                    "vector kernels of %d bits"
                            .formatted(VectorShape.preferredShape().vectorBitSize());
            case ScalarKernels _ when hasVectorModule() -> "scalar kernels, as chosen";
            case ScalarKernels _ ->
                    "scalar kernels; start Java with --add-modules %s for faster ones"
                            .formatted(VECTOR_MODULE);
        };
    }

    /// The kernel that combines two arrays; it may be kept and shared.
    public Kernel kernel(DataType dataType, ReduceOp op) {
        return (target, targetOffset, left, leftOffset, right, rightOffset, count) -> {
            long byteSize = byteSize(dataType, count);
            variantFor(count)
                    .loop(dataType, op)
                    .run(
                            target.asSlice(targetOffset, byteSize),
                            left.asSlice(leftOffset, byteSize),
                            right.asSlice(rightOffset, byteSize),
                            0);
        };
    }

    /// `target = sources[0] op sources[1] op …` for `count` elements of each.
    ///
    /// The sources are folded in the order of their indices, so the result depends on nothing else.
    /// `target` may be the same memory as any one source, but may not overlap one otherwise. Two
    /// sources take a single pass. More go block by block through a partial result that stays in
    /// the cache: each byte of memory is still read once and written once.
    ///
    /// @param sources the first `sourceCount` are used, each from its entry in `sourceOffsets` on
    public void reduce(
            DataType dataType,
            ReduceOp op,
            MemorySegment target,
            long targetOffset,
            MemorySegment[] sources,
            long[] sourceOffsets,
            int sourceCount,
            long count) {
        if (sourceCount < 1) {
            throw new IllegalArgumentException(
                    "a reduction needs at least 1 source, not %d".formatted(sourceCount));
        }
        long byteSize = byteSize(dataType, count);
        if (sourceCount == 1) {
            MemorySegment.copy(sources[0], sourceOffsets[0], target, targetOffset, byteSize);
            return;
        }
        MemorySegment[] slices = new MemorySegment[sourceCount];
        for (int k = 0; k < sourceCount; k++) {
            slices[k] = sources[k].asSlice(sourceOffsets[k], byteSize);
        }
        MemorySegment result = target.asSlice(targetOffset, byteSize);
        KernelVariant kernelVariant = variantFor(count);
        if (sourceCount == 2) {
            kernelVariant.loop(dataType, op).run(result, slices[0], slices[1], 0);
        } else if (dataType == DataType.FLOAT16 || dataType == DataType.BFLOAT16) {
            kernelVariant.halfArithmetic(dataType).reduce(op, result, slices);
        } else {
            reduceInBlocks(kernelVariant.loop(dataType, op), result, slices);
        }
    }

    private void reduceInBlocks(
            KernelLoop kernelLoop, MemorySegment target, MemorySegment[] sources) {
        MemorySegment block = scratch.get().partial;
        int last = sources.length - 1;
        for (long i = 0; i < target.byteSize(); i += KernelScratch.BLOCK_BYTES) {
            long byteSize = Math.min(KernelScratch.BLOCK_BYTES, target.byteSize() - i);
            MemorySegment partial = block.asSlice(0, byteSize);
            kernelLoop.run(
                    partial, sources[0].asSlice(i, byteSize), sources[1].asSlice(i, byteSize), 0);
            for (int k = 2; k < last; k++) {
                kernelLoop.run(partial, partial, sources[k].asSlice(i, byteSize), 0);
            }
            // The target is written last, for it may be a source itself.
            kernelLoop.run(
                    target.asSlice(i, byteSize), partial, sources[last].asSlice(i, byteSize), 0);
        }
    }

    /// Multiplies `count` elements in place.
    ///
    /// Floats are multiplied in their own precision, those of two bytes in `float`. Integers are
    /// multiplied as `double`, truncated toward zero and held within the bounds of their type.
    ///
    /// @throws IllegalArgumentException for `bool`
    public void scale(
            DataType dataType, MemorySegment values, long offset, long count, double factor) {
        MemorySegment slice = values.asSlice(offset, byteSize(dataType, count));
        variantFor(count).scale(dataType, slice, factor);
    }

    /// Divides `count` elements in place, as AVERAGE does with the number of ranks.
    ///
    /// Floats are divided in their own precision, those of two bytes in `float`. Integers are
    /// divided exactly and truncated toward zero.
    ///
    /// @throws IllegalArgumentException for `bool`, and for a divisor below 1
    public void divide(
            DataType dataType, MemorySegment values, long offset, long count, long divisor) {
        if (divisor < 1) {
            throw new IllegalArgumentException(
                    "an average is taken over at least 1 rank, not %d".formatted(divisor));
        }
        MemorySegment slice = values.asSlice(offset, byteSize(dataType, count));
        variantFor(count).divide(dataType, slice, divisor);
    }

    private KernelVariant variantFor(long count) {
        return count < minPreferredElements ? scalar : preferred;
    }

    private static long byteSize(DataType dataType, long count) {
        return Math.multiplyExact(count, (long) dataType.byteSize());
    }
}
