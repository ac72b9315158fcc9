package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.horovod4j.process.RuntimeAcceptanceTests.filled;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.compression.TopK;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/// The acceptance tests of compressed and sparse tensors.
record CompressionAcceptanceTests(Communicator comm) {
    List<Runnable> all() {
        return List.of(
                this::halvesKeepTypes,
                this::shortFloatsKeepMagnitudes,
                this::whatTopKLeavesOutTheNextStepSends,
                this::aProgramMayBringItsOwnCompressor,
                this::sparseRowsTravelOnce,
                this::manySparseRowsTurnDense);
    }

    /// Compression to float16 keeps the type of the tensor, and rounds floats.
    private void halvesKeepTypes() {
        assertExact(Compression.FP16);
        float[] third = {1f / 3};
        Tensor rounded =
                comm.allreduce(
                        "third",
                        Tensor.of(third),
                        AllreduceOptions.average().withCompressor(Compression.FP16));
        assertThat(rounded.toFloatArray()[0]).isNotEqualTo(1f / 3).isCloseTo(1f / 3, within(1e-3f));
    }

    /// Compression to bfloat16 keeps magnitudes, and rounds floats to eight bits.
    private void shortFloatsKeepMagnitudes() {
        assertExact(Compression.BF16);
        // Neither of the first two is a float16, and 257 takes a bit more than bfloat16 has.
        float[] values = {0x1p100f, 0x1p-100f, 257};
        Tensor rounded =
                comm.allreduce(
                        "magnitudes",
                        Tensor.of(values),
                        AllreduceOptions.of(ReduceOp.MAX).withCompressor(Compression.BF16));
        assertThat(rounded.toFloatArray()).containsExactly(0x1p100f, 0x1p-100f, 256);
    }

    private void assertExact(Compression compression) {
        double[] exact = {0.5, 2, comm.rank()};
        Tensor real =
                comm.allreduce(
                        "real",
                        Tensor.of(exact),
                        AllreduceOptions.sum().withCompressor(compression));
        assertThat(real.toDoubleArray())
                .containsExactly(0.5 * comm.size(), 2 * comm.size(), sumOfRanks());
        // As any smaller type, it would lose its last digits.
        int[] whole = {1_000_001};
        Tensor kept =
                comm.allreduce(
                        "whole",
                        Tensor.of(whole),
                        AllreduceOptions.of(ReduceOp.MAX).withCompressor(compression));
        assertThat(kept.toIntArray()).containsExactly(1_000_001);
    }

    /// The largest value of each rank is at a different index in the first step. All ranks have a
    /// value at the last index that is not sent. After the next step's value is added, it is the
    /// largest.
    private void whatTopKLeavesOutTheNextStepSends() {
        TopK topK = TopK.count(1);
        int last = comm.size();
        float[] first = filled(comm.size() + 1, 4);
        first[last] = 0;
        assertThat(largest(topK, 4, 3)).isEqualTo(first);
        assertThat(residual(topK)).isEqualTo(own(0, 3));

        float[] second = new float[comm.size() + 1];
        second[last] = 6 * comm.size();
        assertThat(largest(topK, 1, 3)).isEqualTo(second);
        assertThat(residual(topK)).isEqualTo(own(1, 0));
    }

    private float[] largest(TopK topK, float mine, float last) {
        Tensor tensor = Tensor.of(own(mine, last));
        return comm.allreduce("largest", tensor, AllreduceOptions.sum().withCompressor(topK))
                .toFloatArray();
    }

    private static float[] residual(TopK topK) {
        return topK.residual("largest").orElseThrow().toFloatArray();
    }

    /// A value at this rank's index, and one at the last index, which belongs to no rank.
    private float[] own(float mine, float last) {
        float[] values = new float[comm.size() + 1];
        values[comm.rank()] = mine;
        values[comm.size()] = last;
        return values;
    }

    private void aProgramMayBringItsOwnCompressor() {
        float[] values = {1.75f, -100, comm.rank()};
        Handle<Tensor> one =
                comm.allreduceAsync(
                        "own one",
                        Tensor.of(values),
                        AllreduceOptions.sum()
                                .withCompressor(CompressionAcceptanceTests::sumOfBytes));
        Handle<Tensor> other =
                comm.allreduceAsync(
                        "own other",
                        Tensor.of(values),
                        AllreduceOptions.sum()
                                .withCompressor(CompressionAcceptanceTests::sumOfBytes));
        for (Handle<Tensor> handle : List.of(other, one)) {
            assertThat(handle.join().toFloatArray())
                    .containsExactly(comm.size(), -100 * comm.size(), sumOfRanks());
        }
    }

    /// Sends the integer part of each value as one byte.
    private static Handle<Tensor> sumOfBytes(
            Communicator among, String name, Tensor tensor, ReduceOp op) {
        assertThat(op).isEqualTo(ReduceOp.SUM);
        float[] values = tensor.toFloatArray();
        byte[] small = new byte[values.length];
        for (int i = 0; i < small.length; i++) {
            small[i] = (byte) values[i];
        }
        return among.allgatherAsync(name, Tensor.of(small))
                .thenApply(
                        gathered -> {
                            byte[] all = gathered.toByteArray();
                            float[] sums = new float[values.length];
                            for (int i = 0; i < all.length; i++) {
                                sums[i % sums.length] += all[i];
                            }
                            tensor.segment().copyFrom(MemorySegment.ofArray(sums));
                            return tensor;
                        });
    }

    /// Each rank gives each row twice: duplicates must not count as rows of the whole.
    private void sparseRowsTravelOnce() {
        int last = 2 * comm.size();
        Shape dense = Shape.of(last + 1, 2);
        float[] rows = {1, 2, 3, 4, 5, 6, 7, 8};
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
            Tensor indices = Tensor.of(new int[] {comm.rank(), last, comm.rank(), last});
            SparseTensor mine = new SparseTensor(indices, Tensor.of(rows.clone(), 4, 2), dense);
            int divisor = op == ReduceOp.SUM ? 1 : comm.size();
            float[] expected = new float[2 * comm.size() + 2];
            for (int i = 0; i < comm.size(); i++) {
                expected[2 * i] = 6f / divisor; // 1 + 5
                expected[2 * i + 1] = 8f / divisor; // 2 + 6
            }
            expected[2 * comm.size()] = 10f * comm.size() / divisor; // 3 + 7 of each
            expected[2 * comm.size() + 1] = 12f * comm.size() / divisor; // 4 + 8 of each
            assertThat(comm.sparseAllreduce("few rows", mine, op))
                    .isInstanceOfSatisfying(
                            SparseResult.Rows.class,
                            sum -> {
                                assertThat(sum.rows().indices().toIntArray())
                                        .isEqualTo(
                                                IntStream.rangeClosed(0, comm.size())
                                                        .map(i -> i < comm.size() ? i : last)
                                                        .toArray());
                                assertThat(sum.rows().values().toFloatArray()).isEqualTo(expected);
                            });
        }
    }

    /// Two rows of each rank, of three in the whole tensor.
    private void manySparseRowsTurnDense() {
        float[] rows = {1, comm.rank(), 5, 7};
        Tensor indices = Tensor.of(new long[] {2, 0});
        SparseTensor mine = new SparseTensor(indices, Tensor.of(rows, 2, 2), Shape.of(3, 2));
        assertThat(comm.sparseAllreduce("many rows", mine, ReduceOp.SUM))
                .isInstanceOfSatisfying(
                        SparseResult.Dense.class,
                        sum ->
                                assertThat(sum.tensor().toFloatArray())
                                        .containsExactly(
                                                5 * comm.size(),
                                                7 * comm.size(),
                                                0,
                                                0,
                                                comm.size(),
                                                sumOfRanks()));
    }

    private int sumOfRanks() {
        return IntStream.range(0, comm.size()).sum();
    }
}
