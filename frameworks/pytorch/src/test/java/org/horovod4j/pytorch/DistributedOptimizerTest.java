package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.LBFGSOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Behaviour of one or two ranks in this process.
class DistributedOptimizerTest {
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
    void programMayClipReducedGradients() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).overlap(true).build();
                    float[] before = network.weights();
                    network.pass(comm.rank() * 4, comm.rank() * 4 + 4);
                    optimizer.synchronize();
                    for (Tensor parameter : TorchParameters.named(network).values()) {
                        parameter.grad().zero_();
                    }
                    try (DistributedOptimizer.SkipScope _ = optimizer.skipSynchronize()) {
                        optimizer.step();
                    }
                    assertThat(network.weights()).containsExactly(before);
                });
    }

    @Test
    void adasumOfEqualChangesIsThatChange() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer =
                            wrap(network, comm).op(ReduceOp.ADASUM).build();
                    network.pass(0, 4);
                    optimizer.step();
                    TestNetwork plain = TorchProcesses.newNetwork();
                    Optimizer sgd = plain.sgd();
                    plain.pass(0, 4);
                    sgd.step();
                    assertThat(network.weights())
                            .containsExactly(plain.weights(), Offset.offset(1e-5f));
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
                            .hasMessageContaining("zeroGrad() after 1 of 1 backward passes");
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
        int before = TensorMemory.sharedCount();
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    DistributedOptimizer optimizer = wrap(network, comm).build();
                    network.pass(0, 4);
                    optimizer.step();
                    assertThat(TensorMemory.sharedCount()).isGreaterThanOrEqualTo(before + 4);
                    comm.barrier();
                    for (Tensor parameter : TorchParameters.named(network).values()) {
                        parameter.mutable_grad().reset();
                    }
                });
        assertThat(TensorMemory.sharedCount()).isEqualTo(before);
    }
}
