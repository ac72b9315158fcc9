package org.horovod4j.compression;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.DataType;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

class TopKTest {
    private static final long SEED = 18;

    @FewLayouts
    void ratioOneEqualsDenseAllreduce(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT64)) {
                                for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVERAGE)) {
                                    for (Shape shape :
                                            List.of(Shape.of(0), Shape.SCALAR, Shape.of(17, 3))) {
                                        assertRatioOneEqualsDense(comm, type, op, shape);
                                    }
                                }
                            }
                        });
    }

    private static void assertRatioOneEqualsDense(
            Communicator comm, DataType type, ReduceOp op, Shape shape) {
        List<Tensor> inputs = SampleTensors.forRanks(comm.size(), type, shape, op, SEED);
        Tensor tensor = SampleTensors.copy(inputs.get(comm.rank()));
        AllreduceOptions all = AllreduceOptions.of(op).withCompressor(TopK.ratio(1));
        assertThat(comm.allreduce("tensor", tensor, all)).isSameAs(tensor);
        assertThat(tensor).isWithin(0, ReferenceCollectives.allreduce(inputs, op, Scale.NONE));
    }

    @FewLayouts
    void largestValuesOfEachRankAreSummed(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            float[] values = new float[comm.size() + 2];
                            values[comm.rank()] = -8;
                            values[comm.size()] = 4;
                            values[comm.size() + 1] = 2;
                            TopK top = TopK.count(2);
                            comm.allreduce(
                                    "tensor",
                                    Tensor.of(values),
                                    AllreduceOptions.sum().withCompressor(top));
                            float[] expected = new float[comm.size() + 2];
                            Arrays.fill(expected, -8);
                            expected[comm.size()] = 4 * comm.size();
                            expected[comm.size() + 1] = 0;
                            assertThat(values).isEqualTo(expected);
                        });
    }

    @FewLayouts
    void sentValuesPlusResidualEqualInput(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            TopK top = TopK.ratio(0.1);
                            SplittableRandom random = new SplittableRandom(SEED + comm.rank());
                            float[] left = new float[103];
                            for (int step = 0; step < 20; step++) {
                                float[] given = gaussian(random, left.length);
                                float[] owed = sum(given, left);
                                float[] reduced = given.clone();
                                comm.allreduce(
                                        "tensor",
                                        Tensor.of(reduced),
                                        AllreduceOptions.sum().withCompressor(top));
                                left = top.residual("tensor").orElseThrow().toFloatArray();
                                assertThat(reduced).isEqualTo(gatheredSum(comm, owed, left));
                            }
                        });
    }

    /// The sum of the values that all ranks sent, in rank order. Each rank sent its 11 largest
    /// values.
    private static float[] gatheredSum(Communicator comm, float[] owed, float[] left) {
        float[] sent = new float[owed.length];
        int count = 0;
        for (int i = 0; i < owed.length; i++) {
            if (left[i] == 0) {
                sent[i] = owed[i];
                count++;
            } else {
                assertThat(left[i]).isEqualTo(owed[i]);
            }
        }
        assertThat(count).isEqualTo(11);
        float[] all = comm.allgather("sent", Tensor.of(sent)).toFloatArray();
        float[] total = new float[owed.length];
        for (int i = 0; i < all.length; i++) {
            total[i % total.length] += all[i];
        }
        return total;
    }

    private static float[] gaussian(SplittableRandom random, int length) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    private static float[] sum(float[] left, float[] right) {
        float[] sum = new float[left.length];
        for (int i = 0; i < sum.length; i++) {
            sum[i] = left[i] + right[i];
        }
        return sum;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    @SlowCases({"2", "4"})
    void errorFeedbackConvergesToDenseMinimum(int size) {
        World.run(
                size,
                comm -> {
                    double dense = descend(comm, Compression.NONE, () -> {});
                    TopK top = TopK.count(5);
                    double sparse = descend(comm, top, () -> {});
                    assertThat(dense).isLessThan(1e-6);
                    assertThat(sparse).isLessThan(0.01);
                });
    }

    @Test
    void withoutErrorFeedbackDescentDoesNotConverge() {
        World.run(
                2,
                comm -> {
                    TopK top = TopK.count(5);
                    assertThat(descend(comm, top, top::reset)).isGreaterThan(0.9);
                });
    }

    /// Gradient descent on a quadratic whose largest gradients cancel between ranks, so only the
    /// small gradients lead to the minimum.
    ///
    /// @return the final loss divided by the initial loss
    private static double descend(Communicator comm, Compressor compressor, Runnable afterStep) {
        double[] minimum = new double[20];
        Arrays.fill(minimum, 5, 20, 1);
        double[] own = minimum.clone();
        Arrays.fill(own, 0, 5, 3 * (comm.rank() - (comm.size() - 1) / 2.0));
        double[] weights = new double[20];
        for (int step = 0; step < 500; step++) {
            double[] gradient = new double[20];
            for (int i = 0; i < gradient.length; i++) {
                gradient[i] = weights[i] - own[i];
            }
            comm.allreduce(
                    "gradient",
                    Tensor.of(gradient),
                    AllreduceOptions.average().withCompressor(compressor));
            for (int i = 0; i < weights.length; i++) {
                weights[i] -= 0.03 * gradient[i];
            }
            afterStep.run();
        }
        return distance(weights, minimum) / distance(new double[20], minimum);
    }

    private static double distance(double[] left, double[] right) {
        double sum = 0;
        for (int i = 0; i < left.length; i++) {
            sum += (left[i] - right[i]) * (left[i] - right[i]);
        }
        return sum;
    }

    @Test
    void otherDataTypesAreReducedUncompressed() {
        World.run(
                2,
                comm -> {
                    int[] values = {1, 2, 3};
                    TopK top = TopK.count(1);
                    comm.allreduce(
                            "tensor",
                            Tensor.of(values),
                            AllreduceOptions.of(ReduceOp.MAX).withCompressor(top));
                    comm.allreduce(
                            "tensor",
                            Tensor.of(values),
                            AllreduceOptions.sum().withCompressor(top));
                    assertThat(values).containsExactly(2, 4, 6);
                    assertThat(top.residual("tensor")).isEmpty();
                });
    }

    @Test
    void nonFiniteValuesAreSentAndNotKeptAsResidual() {
        World.run(
                2,
                comm -> {
                    TopK top = TopK.count(1);
                    float inf = Float.POSITIVE_INFINITY;
                    float[] values = {1, comm.rank() == 0 ? inf : 0, Float.NaN};
                    comm.allreduce(
                            "tensor",
                            Tensor.of(values),
                            AllreduceOptions.sum().withCompressor(top));
                    assertThat(values).containsExactly(0, 0, Float.NaN);
                    assertThat(top.residual("tensor").orElseThrow().toFloatArray())
                            .containsExactly(1, 0, 0);
                });
    }

    @Test
    void changedTensorLengthResetsResidual() {
        World.run(
                2,
                comm -> {
                    TopK top = TopK.count(1);
                    comm.allreduce(
                            "t",
                            Tensor.of(new float[] {2, 1}),
                            AllreduceOptions.sum().withCompressor(top));
                    float[] longer = {0, 0, 1};
                    comm.allreduce(
                            "t", Tensor.of(longer), AllreduceOptions.sum().withCompressor(top));
                    assertThat(longer).containsExactly(0, 0, 2);
                });
    }

    @MultiRankLayouts
    void shapeMismatchFailsOnAllRanksAndKeepsResidual(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            TopK top = TopK.count(1);
                            comm.allreduce(
                                    "t",
                                    Tensor.of(new float[] {2, 1}),
                                    AllreduceOptions.sum().withCompressor(top));
                            float[] values = new float[comm.rank() == 1 ? 3 : 2];
                            Tensor tensor = Tensor.of(values);
                            assertThatThrownBy(
                                            () ->
                                                    comm.allreduce(
                                                            "t",
                                                            tensor,
                                                            AllreduceOptions.sum()
                                                                    .withCompressor(top)))
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessageContaining("'t'")
                                    .hasMessageContaining("[3], dense above Infinity on ranks [1]");
                            assertThat(top.residual("t").orElseThrow().toFloatArray())
                                    .containsExactly(0, 1);
                        });
    }

    @Test
    void unsupportedReduceOpIsRejected() {
        World.run(
                1,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                comm.allreduce(
                                                        "t",
                                                        Tensor.of(new float[1]),
                                                        AllreduceOptions.of(ReduceOp.MIN)
                                                                .withCompressor(TopK.count(1))))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("'t'")
                                .hasMessageContaining("not MIN")
                                .hasMessageContaining("without compression"));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -0.5, 1.01, Double.NaN})
    void invalidRatioIsRejected(double ratio) {
        assertThatThrownBy(() -> TopK.ratio(ratio)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void zeroCountIsRejected() {
        assertThatThrownBy(() -> TopK.count(0)).isInstanceOf(IllegalArgumentException.class);
    }
}
