package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.compression.TopK;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Operations that consist of several collectives, with several in flight at once.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a hang would never end
class CompressionInFlightTest {
    private static final int STEPS = 6;

    private static Tensor filled(int length, float value) {
        float[] values = new float[length];
        Arrays.fill(values, value);
        return Tensor.of(values);
    }

    @FewLayouts
    void concurrentCompressedTensorsGetTheirOwnResults(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            List<Compressor> compressors =
                                    List.of(
                                            Compression.FP16,
                                            TopK.ratio(1),
                                            Compression.NONE,
                                            Compression.BF16,
                                            TopK.count(1_000));
                            for (int step = 0; step < STEPS; step++) {
                                List<Handle<Tensor>> handles = new ArrayList<>();
                                for (int i = 0; i < 2 * compressors.size(); i++) {
                                    handles.add(
                                            comm.allreduceAsync(
                                                    "t" + i,
                                                    filled(10 + 7 * i, i + 1),
                                                    AllreduceOptions.sum()
                                                            .withCompressor(
                                                                    compressors.get(
                                                                            i
                                                                                    % compressors
                                                                                            .size()))));
                                }
                                for (int i = handles.size() - 1; i >= 0; i--) {
                                    assertThat(handles.get(i).join().toFloatArray())
                                            .hasSize(10 + 7 * i)
                                            .containsOnly((i + 1) * comm.size());
                                }
                            }
                        });
    }

    @FewLayouts
    void sparseTensorsMayCompleteOutOfOrder(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (int step = 0; step < STEPS; step++) {
                                List<Handle<SparseResult>> handles = new ArrayList<>();
                                for (int i = 0; i < 5; i++) {
                                    // Ranks come in different orders.
                                    int which = (i + comm.rank()) % 5;
                                    handles.add(sparse(comm, which));
                                }
                                Handle<Tensor> dense =
                                        comm.allreduceAsync("d", filled(3, 1), ReduceOp.SUM);
                                for (int i = 0; i < 5; i++) {
                                    int which = (i + comm.rank()) % 5;
                                    float[] rows = handles.get(i).join().toDense().toFloatArray();
                                    float[] expected = new float[20];
                                    for (int rank = 0; rank < comm.size(); rank++) {
                                        expected[rank % 20] += which + 1;
                                    }
                                    assertThat(rows).isEqualTo(expected);
                                }
                                assertThat(dense.join().toFloatArray()).containsOnly(comm.size());
                            }
                        });
    }

    /// Each rank has one row.
    private static Handle<SparseResult> sparse(Communicator comm, int which) {
        SparseTensor tensor =
                new SparseTensor(
                        Tensor.of(new long[] {comm.rank() % 20}),
                        Tensor.of(new float[] {which + 1}),
                        Shape.of(20));
        return comm.sparseAllreduceAsync("s" + which, tensor, ReduceOp.SUM);
    }
}
