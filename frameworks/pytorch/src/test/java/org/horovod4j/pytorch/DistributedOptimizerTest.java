package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.LBFGSOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Behaviour of one or two ranks in this process.
class DistributedOptimizerTest {
    private static final Offset<Float> LAST_BITS = Offset.offset(1e-5f);

    private static DistributedOptimizer.Builder wrap(TestNetwork network, Communicator comm) {
        return DistributedOptimizer.wrap(network.sgd(), network).communicator(comm);
    }

    @Test
    void singleRankEqualsWrappedOptimizer() {
        World.run(
                1,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    TestNetwork plain = TorchProcesses.newNetwork();
                    Optimizer sgd = plain.sgd();
                    for (int step = 0; step < 3; step++) {
                        optimizer.zeroGrad();
                        network.pass(step * 4, step * 4 + 4);
                        assertThat(optimizer.step()).isTrue();
                        sgd.zero_grad();
                        plain.pass(step * 4, step * 4 + 4);
                        sgd.step();
                    }
                    assertThat(network.weights()).containsExactly(plain.weights());
                });
    }

    @Test
    void hooksLaunchGradientsDuringBackward() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).overlap(true).build();
                    for (int step = 0; step < 3; step++) {
                        optimizer.zeroGrad();
                        network.pass(step * 4, step * 4 + 4);
                        optimizer.step();
                    }
                    assertThat(optimizer.overlap().isUsed()).isTrue();
                    assertThat(optimizer.overlap().overlapTiming().launchedByPasses())
                            .isEqualTo(3 * 4);
                });
    }

    @Test
    void gradientsStayInSharedMemory() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    network.pass(0, 4);
                    optimizer.step();
                    Tensor weight = network.parameter("first.weight");
                    long address = weight.grad().data_ptr().address();
                    for (int step = 0; step < 3; step++) {
                        optimizer.zeroGrad();
                        network.pass(step * 4, step * 4 + 4);
                        optimizer.step();
                        assertThat(weight.grad().data_ptr().address()).isEqualTo(address);
                    }
                });
    }

    @Test
    void programMayChangeReducedGradients() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).overlap(true).build();
                    network.pass(comm.rank() * 4, comm.rank() * 4 + 4);
                    optimizer.synchronize();
                    TestNetwork whole = TorchProcesses.newNetwork();
                    Optimizer sgd = whole.sgd();
                    whole.pass(0, 8); // the average of both batches
                    for (String name : TorchParameters.named(network).keySet()) {
                        Tensor gradient = network.parameter(name).grad();
                        Tensor expected = whole.parameter(name).grad();
                        assertThat(TensorMemory.view(gradient).toFloatArray())
                                .containsExactly(
                                        TensorMemory.view(expected).toFloatArray(), LAST_BITS);
                        gradient.mul_(new Scalar(0.5f));
                        expected.mul_(new Scalar(0.5f));
                    }
                    try (DistributedOptimizer.SkipScope _ = optimizer.skipSynchronize()) {
                        optimizer.step();
                    }
                    sgd.step();
                    assertThat(network.weights()).containsExactly(whole.weights(), LAST_BITS);
                });
    }

    @Test
    void adasumCombinesChangesOfWeights() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer =
                            wrap(network, comm).op(ReduceOp.ADASUM).build();
                    Map<String, float[]> first = changes(0);
                    Map<String, float[]> second = changes(4);
                    network.pass(comm.rank() * 4, comm.rank() * 4 + 4);
                    optimizer.step();
                    TestNetwork start = TorchProcesses.newNetwork();
                    first.forEach(
                            (name, change) -> {
                                float[] sum =
                                        adasum(change, Objects.requireNonNull(second.get(name)));
                                float[] expected = floats(start.parameter(name));
                                for (int i = 0; i < expected.length; i++) {
                                    expected[i] += sum[i];
                                }
                                assertThat(floats(network.parameter(name)))
                                        .as(name)
                                        .containsExactly(expected, LAST_BITS);
                            });
                });
    }

    /// What one step with samples from `from` on changes.
    private static Map<String, float[]> changes(int from) {
        TestNetwork network = TorchProcesses.newNetwork();
        Optimizer sgd = network.sgd();
        Map<String, float[]> changes = new LinkedHashMap<>();
        TorchParameters.named(network).forEach((name, each) -> changes.put(name, floats(each)));
        network.pass(from, from + 4);
        sgd.step();
        changes.forEach(
                (name, values) -> {
                    float[] after = floats(network.parameter(name));
                    for (int i = 0; i < values.length; i++) {
                        values[i] = after[i] - values[i];
                    }
                });
        return changes;
    }

    /// Each operand without half of its projection on the other one.
    private static float[] adasum(float[] a, float[] b) {
        double dot = 0;
        double normA = 0;
        double normB = 0;
        for (int i = 0; i < a.length; i++) {
            dot += (double) a[i] * b[i];
            normA += (double) a[i] * a[i];
            normB += (double) b[i] * b[i];
        }
        float[] sum = new float[a.length];
        for (int i = 0; i < a.length; i++) {
            sum[i] = (float) ((1 - dot / (2 * normA)) * a[i] + (1 - dot / (2 * normB)) * b[i]);
        }
        return sum;
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.view(tensor).toFloatArray();
    }

    /// The second rank has another shape for one parameter only, so that other changes are reduced.
    @Test
    void failedAdasumStepLeavesWeightsUnchanged() {
        World.run(
                2,
                comm -> {
                    Tensor first = torch.ones(2).set_requires_grad(true);
                    Tensor second = torch.ones(2 + comm.rank()).set_requires_grad(true);
                    Map<String, Tensor> parameters = new LinkedHashMap<>();
                    parameters.put("first", first);
                    parameters.put("second", second);
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(
                                            new SGD(
                                                    new TensorVector(first, second),
                                                    new SGDOptions(1)),
                                            parameters)
                                    .communicator(comm)
                                    .op(ReduceOp.ADASUM)
                                    .parameterCheckInterval(0)
                                    .build();
                    first.sum().add(second.sum()).backward();
                    assertThatThrownBy(optimizer::step).isInstanceOf(MismatchException.class);
                    assertThat(floats(first)).containsExactly(1, 1);
                    assertThat(floats(second)).containsOnly(1);
                });
    }

    @Test
    void parameterThatOneRankDoesNotUseIsStillAveraged() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).overlap(true).build();
                    if (comm.rank() == 0) {
                        network.pass(0, 4);
                    }
                    optimizer.step();
                    TestNetwork half = TorchProcesses.newNetwork();
                    Optimizer sgd = half.sgd();
                    half.pass(0, 4);
                    for (Tensor parameter : TorchParameters.named(half).values()) {
                        parameter.grad().mul_(new Scalar(0.5f));
                    }
                    sgd.step();
                    assertThat(network.weights())
                            .containsExactly(half.weights(), Offset.offset(1e-6f));
                });
    }

    /// Its elements are not in row-major order.
    @Test
    void transposedParameterIsAveraged() {
        World.run(
                2,
                comm -> {
                    Tensor weight =
                            TensorMemory.newTensor(TestNetwork.sines(1, 2, 3))
                                    .t()
                                    .set_requires_grad(true);
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(
                                            new SGD(new TensorVector(weight), new SGDOptions(1)),
                                            Map.of("weight", weight))
                                    .communicator(comm)
                                    .build();
                    float[] expected = TensorMemory.copy(weight).toFloatArray();
                    float[] factors = TestNetwork.sines(2, 3, 2).toFloatArray();
                    for (int i = 0; i < expected.length; i++) {
                        expected[i] -= 2 * factors[i] / 2;
                    }
                    for (int step = 0; step < 2; step++) { // the second one in shared memory
                        if (comm.rank() == 0) {
                            weight.mul(TensorMemory.newTensor(TestNetwork.sines(2, 3, 2)))
                                    .sum()
                                    .backward();
                        }
                        optimizer.step();
                        assertThat(weight.is_contiguous()).isFalse();
                        optimizer.zeroGrad();
                    }
                    assertThat(TensorMemory.copy(weight).toFloatArray())
                            .containsExactly(expected, LAST_BITS);
                });
    }

    @Test
    void scopeOfProgramDoesNotFreeNamedParameters() {
        World.run(
                2,
                comm -> {
                    DistributedOptimizer optimizer;
                    Optimizer sgd;
                    try (PointerScope _ = new PointerScope()) {
                        Tensor weight = torch.ones(3).set_requires_grad(true);
                        sgd = new SGD(new TensorVector(weight), new SGDOptions(1));
                        sgd.retainReference();
                        optimizer =
                                DistributedOptimizer.wrap(sgd, Map.of("weight", weight))
                                        .communicator(comm)
                                        .build();
                    }
                    Tensor weight = sgd.param_groups().get(0).params().get(0);
                    weight.mul(new Scalar(comm.rank() + 1f)).sum().backward();
                    optimizer.step();
                    assertThat(floats(weight)).containsOnly(-0.5f);
                });
    }

    @Test
    void secondBackwardPassWithoutStepFails() {
        World.run(
                1,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    network.pass(0, 4);
                    network.pass(4, 8);
                    assertThatThrownBy(optimizer::step)
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("was computed 2 times since the last step")
                            .hasMessageContaining("backwardPassesPerStep");
                });
    }

    @Test
    void zeroGradBetweenBackwardAndStepFails() {
        World.run(
                1,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    network.pass(0, 4);
                    assertThatThrownBy(optimizer::zeroGrad)
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("zeroGrad() after 1 of 1 backward passes")
                            .hasMessageContaining("reset() on all ranks");
                    optimizer.reset();
                    optimizer.zeroGrad();
                });
    }

    @Test
    void stepInsideSkipSynchronizeNeedsSynchronize() {
        World.run(
                1,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    network.pass(0, 4);
                    try (DistributedOptimizer.SkipScope _ = optimizer.skipSynchronize()) {
                        assertThatThrownBy(optimizer::step)
                                .hasMessageContaining("gradients are not synchronized");
                    }
                });
    }

    @Test
    void optimizerOfOtherParametersIsRefused() {
        TestNetwork network = TorchProcesses.newNetwork();
        TestNetwork other = TorchProcesses.newNetwork();
        assertThatThrownBy(() -> DistributedOptimizer.wrap(other.sgd(), network))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("4 parameters that are not among the 4 of the module");
        Map<String, Tensor> twice = new LinkedHashMap<>(TorchParameters.named(network));
        twice.put("again", network.parameter("first.weight"));
        assertThatThrownBy(() -> DistributedOptimizer.wrap(network.sgd(), twice))
                .hasMessageContaining("under two names");
    }

    @Test
    void lbfgsIsRefused() {
        TestNetwork network = TorchProcesses.newNetwork();
        LBFGS optimizer = new LBFGS(network.parameters(), new LBFGSOptions(1));
        assertThatThrownBy(() -> DistributedOptimizer.wrap(optimizer, network))
                .hasMessageContaining("LBFGS computes the loss several times in a step");
    }

    @Test
    void adasumHasNoReducedGradients() {
        World.run(
                1,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer =
                            wrap(network, comm).op(ReduceOp.ADASUM).build();
                    network.pass(0, 4);
                    for (ThrowingCallable call :
                            List.<ThrowingCallable>of(
                                    optimizer::synchronize, optimizer::skipSynchronize)) {
                        assertThatThrownBy(call)
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("but Adasum reduces changes of weights");
                    }
                });
    }

    @Test
    void ranksWithOtherWeightsFailInFirstStep() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    network.parameter("first.bias").detach().fill_(new Scalar((float) comm.rank()));
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    network.pass(0, 4);
                    assertThatThrownBy(optimizer::step)
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("first.bias");
                });
    }

    @Test
    void memoryOfGradientsIsReleased() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    network.pass(0, 4);
                    optimizer.step();
                    for (Tensor parameter : TorchParameters.named(network).values()) {
                        long address;
                        try (Tensor gradient = parameter.grad()) {
                            address = gradient.data_ptr().address();
                        }
                        assertThat(TensorMemory.isShared(address)).isTrue();
                        parameter.mutable_grad().reset();
                        assertThat(TensorMemory.isShared(address)).isFalse();
                    }
                });
    }
}
