package org.horovod4j.testing;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/// Tensors to reduce; the same seed gives the same tensors.
///
/// Sums and products of the floats are exact in every type and order, so that results can be
/// compared bit by bit. Half of the integers are small, the others arbitrary, so that sums wrap
/// around.
public final class SampleTensors {
    /// The ops that are computed element by element. Adasum has its own tests.
    public static final List<ReduceOp> ELEMENTWISE =
            List.of(ReduceOp.AVERAGE, ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);

    private SampleTensors() {}

    /// One tensor for each rank, in native memory.
    public static List<Tensor> forRanks(
            int ranks, DataType dataType, Shape shape, ReduceOp op, long seed) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> of(dataType, shape, op, seed * 1_000 + rank))
                .toList();
    }

    public static Tensor of(DataType dataType, Shape shape, ReduceOp op, long seed) {
        Elements elements = Elements.zerosFor(Tensor.zeros(dataType, shape));
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < elements.count(); i++) {
            if (dataType.isFloatingPoint()) {
                elements.set(i, op == ReduceOp.PRODUCT ? factor(random) : addend(random));
            } else if (dataType == DataType.BOOL) {
                elements.set(i, random.nextInt(4) == 0 ? 0L : 1L);
            } else {
                elements.set(i, random.nextBoolean() ? random.nextInt(9) : random.nextLong());
            }
        }
        return elements.store();
    }

    /// Small multiples of a quarter: 128 of them add up exactly even in `bfloat16`.
    private static double addend(SplittableRandom random) {
        return random.nextInt(-2, 3) / 4.0;
    }

    /// Powers of two, usually one, of either sign.
    private static double factor(SplittableRandom random) {
        return (random.nextInt(16) == 0 ? 2.0 : 1.0) * (random.nextBoolean() ? 1 : -1);
    }

    /// A tensor of random bits: floats of every magnitude, infinities and NaN.
    public static Tensor anyBits(DataType dataType, Shape shape, long seed) {
        Tensor tensor = Tensor.zeros(dataType, shape);
        byte[] bits = new byte[Math.toIntExact(tensor.byteSize())];
        new SplittableRandom(seed).nextBytes(bits);
        tensor.segment().copyFrom(MemorySegment.ofArray(bits));
        return tensor;
    }

    /// Replaces every NaN of a float tensor by the same NaN.
    public static Tensor withOneNaN(Tensor tensor) {
        Elements elements = Elements.of(tensor);
        for (int i = 0; i < elements.count(); i++) {
            if (Double.isNaN(elements.real(i))) {
                elements.set(i, Double.NaN);
            }
        }
        return elements.store();
    }

    /// A tensor with equal elements in native memory.
    public static Tensor copy(Tensor tensor) {
        return filled(Tensor.zeros(tensor.dataType(), tensor.shape()), tensor);
    }

    /// A tensor with equal elements in a Java array.
    public static Tensor onHeap(Tensor tensor) {
        byte[] array = new byte[Math.toIntExact(tensor.byteSize())];
        MemorySegment memory = MemorySegment.ofArray(array);
        return filled(Tensor.of(memory, tensor.dataType(), tensor.shape()), tensor);
    }

    /// A tensor with equal elements in memory that the ranks of a host share.
    public static Tensor shared(Communicator communicator, Tensor tensor) {
        return filled(communicator.allocate(tensor.dataType(), tensor.shape()), tensor);
    }

    private static Tensor filled(Tensor target, Tensor source) {
        target.segment().copyFrom(source.segment());
        return target;
    }
}
