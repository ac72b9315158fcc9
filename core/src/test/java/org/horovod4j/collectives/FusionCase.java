package org.horovod4j.collectives;

import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// Fused tensors of all ranks, and the expected results.
///
/// @param inputs the inputs, by tensor and then by rank
/// @param expected the expected results, by tensor
record FusionCase(
        DataType dataType,
        List<List<Tensor>> inputs,
        List<Tensor> expected,
        ReduceOp op,
        Scale scale) {

    static FusionCase of(
            int ranks, DataType dataType, List<Shape> shapes, ReduceOp op, Scale scale) {
        List<List<Tensor>> inputs = new ArrayList<>();
        for (int i = 0; i < shapes.size(); i++) {
            inputs.add(SampleTensors.forRanks(ranks, dataType, shapes.get(i), op, 17 + i));
        }
        List<Tensor> expected =
                inputs.stream()
                        .map(each -> ReferenceCollectives.allreduce(each, op, scale))
                        .toList();
        return new FusionCase(dataType, inputs, expected, op, scale);
    }

    /// Row counts for `count` tensors, some of them 0.
    static List<Shape> shapes(int count, long longest) {
        return IntStream.range(0, count)
                .mapToObj(i -> Shape.of((i * 31L + longest) % (longest + 1), i % 5 == 4 ? 0 : 1))
                .toList();
    }

    /// The memory of the tensors.
    enum Memory {
        HEAP,
        NATIVE,
        SHARED,
        /// All of these in turn, in a different order on each rank.
        MIXED;

        /// Copies all tensors. Those in shared memory lie in one block, a few bytes apart.
        List<Tensor> copies(List<Tensor> tensors, CancellableBackend backend, int turn) {
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
                case HEAP -> SampleTensors.onHeap(tensor);
                case NATIVE -> SampleTensors.copy(tensor);
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

    /// The inputs of `rank`, in the given memory.
    List<Tensor> copies(int rank, CancellableBackend backend, Memory memory) {
        return memory.copies(inputs.stream().map(each -> each.get(rank)).toList(), backend, rank);
    }

    FusedTensors fusedTensors() {
        return new FusedTensors(
                dataType,
                inputs.stream().mapToLong(each -> each.getFirst().elementCount()).toArray());
    }

    /// Reduces copies of a rank's tensors in place and compares them with the reference.
    void allreduce(long stamp, int rank, CancellableBackend backend, Memory memory) {
        List<Tensor> tensors = copies(rank, backend, memory);
        FusedTensors fusedTensors = fusedTensors();
        set(fusedTensors, tensors, tensors);
        backend.allreduce(stamp, fusedTensors, op, scale, ranks());
        check(tensors);
    }

    /// Reduces a rank's tensors into separate outputs and checks inputs and outputs.
    void allreduceOutOfPlace(long stamp, int rank, CancellableBackend backend, Memory memory) {
        List<Tensor> tensors = copies(rank, backend, memory);
        List<Tensor> outputs = copies((rank + 1) % ranks(), backend, memory);
        FusedTensors fusedTensors = fusedTensors();
        set(fusedTensors, tensors, outputs);
        backend.allreduce(stamp, fusedTensors, op, scale, ranks());
        check(outputs);
        for (int i = 0; i < count(); i++) {
            assertThat(tensors.get(i)).isBitwiseEqualTo(inputs.get(i).get(rank));
        }
    }

    void reducescatter(long stamp, int rank, CancellableBackend backend, Memory memory) {
        List<Tensor> tensors = copies(rank, backend, memory);
        List<Shape> shapes = tensors.stream().map(Tensor::shape).toList();
        FusedTensors fusedTensors = FusedTensors.forReducescatter(dataType, shapes, rank, ranks());
        List<Tensor> own =
                expected.stream()
                        .map(each -> ReferenceCollectives.reducescatterPart(each, rank, ranks()))
                        .toList();
        List<Tensor> zeros =
                own.stream().map(share -> Tensor.zeros(dataType, share.shape())).toList();
        List<Tensor> shares = memory.copies(zeros, backend, 0);
        set(fusedTensors, tensors, shares);
        backend.reducescatter(stamp, fusedTensors, op, scale, ranks());
        for (int i = 0; i < count(); i++) {
            assertThat(shares.get(i)).isBitwiseEqualTo(own.get(i));
            assertThat(tensors.get(i)).isBitwiseEqualTo(inputs.get(i).get(rank));
        }
    }

    void check(List<Tensor> tensors) {
        for (int i = 0; i < count(); i++) {
            assertThat(tensors.get(i)).isBitwiseEqualTo(expected.get(i));
        }
    }

    static void set(FusedTensors fusedTensors, List<Tensor> inputs, List<Tensor> outputs) {
        for (int i = 0; i < inputs.size(); i++) {
            MemorySegment input = inputs.get(i).segment();
            MemorySegment output = outputs.get(i).segment();
            fusedTensors.set(i, input, output);
        }
    }

    private int ranks() {
        return inputs.getFirst().size();
    }
}
