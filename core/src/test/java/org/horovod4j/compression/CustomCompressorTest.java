package org.horovod4j.compression;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The compressor of the example in `docs/compression.md`.
class CustomCompressorTest {
    /// Averages the signs of `float32` tensors, scaled by each rank's mean magnitude, and adds the
    /// error to the values of the next step.
    static final class SignCompressor implements Compressor {
        private final Map<String, float[]> errors = new ConcurrentHashMap<>();

        @Override
        public Handle<Tensor> allreduceAsync(
                Communicator comm, String name, Tensor tensor, ReduceOp op) {
            float[] values = tensor.toFloatArray();
            float[] error = errors.computeIfAbsent(name, _ -> new float[values.length]);
            float[] mean = {0};
            for (int i = 0; i < values.length; i++) {
                values[i] += error[i];
                mean[0] += Math.abs(values[i]) / values.length;
            }
            byte[] signs = new byte[values.length];
            for (int i = 0; i < values.length; i++) {
                signs[i] = (byte) Math.signum(values[i]);
                error[i] = values[i] - signs[i] * mean[0];
            }
            return comm.groupedAllgatherAsync(name, List.of(Tensor.of(mean), Tensor.of(signs)))
                    .thenApply(
                            all ->
                                    average(
                                            all.get(0).toFloatArray(),
                                            all.get(1).toByteArray(),
                                            tensor));
        }

        private static Tensor average(float[] means, byte[] signs, Tensor tensor) {
            float[] result = new float[signs.length / means.length];
            for (int i = 0; i < signs.length; i++) {
                result[i % result.length] += signs[i] * means[i / result.length] / means.length;
            }
            tensor.segment().copyFrom(MemorySegment.ofArray(result));
            return tensor;
        }
    }

    @FewLayouts
    void residualIsSentInLaterSteps(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            Compressor signs = new SignCompressor();
                            int steps = 100;
                            double[] total = new double[3];
                            for (int step = 0; step < steps; step++) {
                                float[] values = {1, 0.1f * comm.rank(), -0.7f};
                                comm.allreduce(
                                        "tensor",
                                        Tensor.of(values),
                                        AllreduceOptions.average().withCompressor(signs));
                                for (int i = 0; i < total.length; i++) {
                                    total[i] += values[i];
                                }
                            }
                            double[] expected = {1, 0.1 * (comm.size() - 1) / 2, -0.7};
                            for (int i = 0; i < total.length; i++) {
                                assertThat(total[i] / steps).isCloseTo(expected[i], within(0.02));
                            }
                        });
    }
}
