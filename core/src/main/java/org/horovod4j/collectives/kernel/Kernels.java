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
/// | integers              | wraps around; unsigned types compare, scale and divide as unsigned   |
/// | `float16`, `bfloat16` | in `float`, rounded once at the end (to nearest, ties to even)       |
/// | `float32`, `float64`  | native; MIN and MAX of a NaN are NaN, as in `Math.min`               |
/// | `bool`                | SUM and MAX are "or", PRODUCT and MIN "and"; results are 0 or 1      |
///
/// AVERAGE is computed as SUM: the caller, which knows the number of ranks, calls [#divide]
/// afterwards. All memory is off-heap, with any alignment.
///
/// An instance may be shared by threads and need not be closed. Each thread that uses it keeps 50
/// KB of scratch memory while the thread lives.
public final class Kernels {
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    /// Below this size scalar loops are faster, and a program that only reduces smaller arrays
    /// avoids the 30 ms of loading the Vector API.
    private static final int MIN_VECTOR_ELEMENTS = 64;

    private final ThreadLocal<KernelScratch> scratch = ThreadLocal.withInitial(KernelScratch::new);
    private final ScalarKernels scalar = new ScalarKernels(scratch);
    private final KernelVariant preferred;
    private final long minPreferredElements;

    private Kernels(boolean vector, long minPreferredElements) {
        this.preferred = vector ? new VectorKernels(scalar, scratch) : scalar;
        this.minPreferredElements = minPreferredElements;
    }

    /// Vector kernels if this JVM has the Vector API, for arrays that are large enough.
    public static Kernels best() {
        return new Kernels(hasVectorModule(), MIN_VECTOR_ELEMENTS);
    }

    /// Scalar kernels for arrays of any length.
    public static Kernels scalar() {
        return new Kernels(false, 0);
    }

    /// Vector kernels for arrays of any length.
    ///
    /// @throws ConfigurationException if this JVM was started without the Vector API
    public static Kernels vector() {
        if (!hasVectorModule()) {
            throw new ConfigurationException(
                    """
                    vector kernels need the module %1$s, but this JVM was started without it
                    Start it with --add-modules %1$s, or use Kernels.best()."""
                            .formatted(VECTOR_MODULE));
        }
        return new Kernels(true, 0);
    }

    private static boolean hasVectorModule() {
        return ModuleLayer.boot().findModule(VECTOR_MODULE).isPresent();
    }

    /// Whether the vector variant is in use.
    public boolean usesVectors() {
        return preferred instanceof VectorKernels;
    }

    /// The variant in use and its vector width, for the log at start-up.
    ///
    /// Takes half a millisecond, because it asks the JVM for its vector size. Call it only if the
    /// line is logged.
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

    /// The kernel that combines two arrays. It may be kept and shared.
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
    /// The sources are combined in index order, so the result depends on nothing else. `target` may
    /// be the same memory as one source, but must not overlap a source otherwise. Two sources take
    /// a single pass. More sources are processed in blocks with a partial result that stays in the
    /// cache, so each byte of memory is still read once and written once.
    ///
    /// @param sources the first `sourceCount` entries are used, each from its offset in
    ///     `sourceOffsets`
    public void reduce(
            DataType dataType,
            ReduceOp op,
            MemorySegment target,
            long targetOffset,
            MemorySegment[] sources,
            long[] sourceOffsets,
            int sourceCount,
            long count) {
        long byteSize = byteSize(dataType, count);
        MemorySegment[] slices = new MemorySegment[sourceCount];
        for (int k = 0; k < sourceCount; k++) {
            slices[k] = sources[k].asSlice(sourceOffsets[k], byteSize);
        }
        reduce(dataType, op, target.asSlice(targetOffset, byteSize), slices);
    }

    /// Like the method above, for whole segments of the size of `target`. A caller that keeps its
    /// segments creates no slices.
    public void reduce(
            DataType dataType, ReduceOp op, MemorySegment target, MemorySegment[] sources) {
        if (sources.length == 0) {
            throw new IllegalArgumentException("a reduction needs at least 1 source, got 0");
        }
        KernelVariant variant = variantFor(target.byteSize() / dataType.byteSize());
        if (sources.length == 1) {
            target.copyFrom(sources[0]);
        } else if (sources.length == 2) {
            variant.loop(dataType, op).run(target, sources[0], sources[1], 0);
        } else if (dataType == DataType.FLOAT16 || dataType == DataType.BFLOAT16) {
            variant.halfArithmetic(dataType).reduce(op, target, sources);
        } else {
            reduceInBlocks(variant.loop(dataType, op), target, sources);
        }
    }

    private void reduceInBlocks(KernelLoop loop, MemorySegment target, MemorySegment[] sources) {
        MemorySegment block = scratch.get().partial;
        int last = sources.length - 1;
        for (long i = 0; i < target.byteSize(); i += KernelScratch.BLOCK_BYTES) {
            long byteSize = Math.min(KernelScratch.BLOCK_BYTES, target.byteSize() - i);
            MemorySegment partial = block.asSlice(0, byteSize);
            loop.run(partial, slice(sources[0], i, byteSize), slice(sources[1], i, byteSize), 0);
            for (int k = 2; k < last; k++) {
                loop.run(partial, partial, slice(sources[k], i, byteSize), 0);
            }
            // Written last, because the target may be one of the sources.
            loop.run(slice(target, i, byteSize), partial, slice(sources[last], i, byteSize), 0);
        }
    }

    private static MemorySegment slice(MemorySegment segment, long from, long byteSize) {
        return from == 0 && segment.byteSize() == byteSize
                ? segment
                : segment.asSlice(from, byteSize);
    }

    /// Multiplies `count` elements in place.
    ///
    /// Floats are multiplied in their own precision, two-byte floats in `float`. Integers are
    /// multiplied as `double`, truncated toward zero and clamped to the range of their type.
    ///
    /// @throws IllegalArgumentException for `bool`
    public void scale(
            DataType dataType, MemorySegment values, long offset, long count, double factor) {
        MemorySegment slice = values.asSlice(offset, byteSize(dataType, count));
        variantFor(count).scale(dataType, slice, factor);
    }

    /// Divides `count` elements in place, as AVERAGE does with the number of ranks.
    ///
    /// Floats are divided in their own precision, two-byte floats in `float`. Integers are divided
    /// exactly and truncated toward zero.
    ///
    /// @throws IllegalArgumentException for `bool`, and for a divisor below 1
    public void divide(
            DataType dataType, MemorySegment values, long offset, long count, long divisor) {
        if (divisor < 1) {
            throw new IllegalArgumentException(
                    "an average needs at least 1 rank, got %d".formatted(divisor));
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
