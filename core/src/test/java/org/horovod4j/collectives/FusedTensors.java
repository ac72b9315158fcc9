package org.horovod4j.collectives;

import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Bundle;
import org.horovod4j.testing.Reference;
import org.horovod4j.testing.Samples;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// Tensors of every rank that travel as one, and what should become of them.
///
/// @param inputs by tensor and then by rank
/// @param expected what each tensor becomes, by tensor
record FusedTensors(
        DataType dataType,
        List<List<Tensor>> inputs,
        List<Tensor> expected,
        ReduceOp op,
        Scale scale) {

    static FusedTensors of(
            int ranks, DataType dataType, List<Shape> shapes, ReduceOp op, Scale scale) {
        List<List<Tensor>> inputs = new ArrayList<>();
        for (int i = 0; i < shapes.size(); i++) {
            inputs.add(Samples.forRanks(ranks, dataType, shapes.get(i), op, 17 + i));
        }
        List<Tensor> expected =
                inputs.stream().map(each -> Reference.allreduce(each, op, scale)).toList();
        return new FusedTensors(dataType, inputs, expected, op, scale);
    }

    /// Rows of several lengths for `count` tensors, some of them none at all.
    static List<Shape> shapes(int count, long longest) {
        return IntStream.range(0, count)
                .mapToObj(i -> Shape.of((i * 31L + longest) % (longest + 1), i % 5 == 4 ? 0 : 1))
                .toList();
    }

    /// Where a test puts its tensors.
    enum Memory {
        HEAP,
        NATIVE,
        SHARED,
        /// All of these in turn, and not in the same order on all ranks.
        MIXED;

        /// Copies of all tensors; those in shared memory lie in one block, a few bytes apart.
        List<Tensor> copies(List<Tensor> tensors, Backend backend, int turn) {
            long byteSize = tensors.stream().mapToLong(each -> each.byteSize() + GAP).sum();
            MemorySegment block = backend.allocate(DataType.UINT8, Shape.of(byteSize)).segment();
            List<Tensor> copies = new ArrayList<>();
            long at = 0;
            for (int i = 0; i < tensors.size(); i++) {
                Tensor tensor = tensors.get(i);
                copies.add(copy(tensor, block.asSlice(at, tensor.byteSize()), turn + i));
                at += tensor.byteSize() + GAP;
            }
            return copies;
        }

        private Tensor copy(Tensor tensor, MemorySegment shared, int turn) {
            return switch (this) {
                case HEAP -> Samples.onHeap(tensor);
                case NATIVE -> Samples.copy(tensor);
                case SHARED ->
                        Tensor.of(
                                shared.copyFrom(tensor.segment()),
                                tensor.dataType(),
                                tensor.shape());
                case MIXED -> values()[turn % 3].copy(tensor, shared, turn);
            };
        }
    }

    private static final long GAP = 8;

    int count() {
        return inputs.size();
    }

    /// What `rank` brings, in memory of its own.
    List<Tensor> copies(int rank, Backend backend, Memory memory) {
        return memory.copies(inputs.stream().map(each -> each.get(rank)).toList(), backend, rank);
    }

    Bundle bundle() {
        return new Bundle(
                dataType,
                inputs.stream().mapToLong(each -> each.getFirst().elementCount()).toArray());
    }

    /// Reduces copies of a rank's tensors in place and holds them against the reference.
    void allreduce(long stamp, int rank, Backend backend, Memory memory) {
        List<Tensor> tensors = copies(rank, backend, memory);
        Bundle bundle = bundle();
        set(bundle, tensors, tensors);
        backend.allreduce(stamp, bundle, op, scale, ranks());
        check(tensors);
    }

    /// Reduces a rank's tensors into others and holds both against what they should be.
    void allreduceElsewhere(long stamp, int rank, Backend backend, Memory memory) {
        List<Tensor> tensors = copies(rank, backend, memory);
        List<Tensor> outputs = copies((rank + 1) % ranks(), backend, memory);
        Bundle bundle = bundle();
        set(bundle, tensors, outputs);
        backend.allreduce(stamp, bundle, op, scale, ranks());
        check(outputs);
        for (int i = 0; i < count(); i++) {
            assertThat(tensors.get(i)).hasTheBitsOf(inputs.get(i).get(rank));
        }
    }

    void reducescatter(long stamp, int rank, Backend backend, Memory memory) {
        List<Tensor> tensors = copies(rank, backend, memory);
        List<Shape> shapes = tensors.stream().map(Tensor::shape).toList();
        Bundle bundle = Bundle.scattered(dataType, shapes, rank, ranks());
        List<Tensor> own =
                expected.stream().map(each -> Reference.share(each, rank, ranks())).toList();
        List<Tensor> zeros =
                own.stream().map(share -> Tensor.zeros(dataType, share.shape())).toList();
        List<Tensor> shares = memory.copies(zeros, backend, 0);
        set(bundle, tensors, shares);
        backend.reducescatter(stamp, bundle, op, scale, ranks());
        for (int i = 0; i < count(); i++) {
            assertThat(shares.get(i)).hasTheBitsOf(own.get(i));
            assertThat(tensors.get(i)).hasTheBitsOf(inputs.get(i).get(rank));
        }
    }

    void check(List<Tensor> tensors) {
        for (int i = 0; i < count(); i++) {
            assertThat(tensors.get(i)).hasTheBitsOf(expected.get(i));
        }
    }

    static void set(Bundle bundle, List<Tensor> inputs, List<Tensor> outputs) {
        for (int i = 0; i < inputs.size(); i++) {
            MemorySegment input = inputs.get(i).segment();
            MemorySegment output = outputs.get(i).segment();
            bundle.set(i, input, output);
        }
    }

    private int ranks() {
        return inputs.getFirst().size();
    }
}
