package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/// Broadcasts of parameters, buffers and states of optimizers, and collectives on tensors.
class TorchParametersTest {
    @BeforeAll
    static void load() {
        HvdTorch.load();
    }

    @Test
    void parametersAndBuffersOfRootReplaceOwn() {
        World.run(
                2,
                comm -> {
                    BatchNorm1dImpl norm = new BatchNorm1dImpl(new BatchNormOptions(3));
                    Map<String, Tensor> tensors = TorchParameters.withBuffers(norm);
                    assertThat(tensors)
                            .containsOnlyKeys(
                                    "weight",
                                    "bias",
                                    "running_mean",
                                    "running_var",
                                    "num_batches_tracked");
                    Objects.requireNonNull(tensors.get("running_mean"))
                            .fill_(new Scalar(comm.rank() + 5f));
                    TorchParameters.broadcast(comm, tensors, 1);
                    assertThat(TensorMemory.view(norm.running_mean()).toFloatArray())
                            .containsExactly(6, 6, 6);
                });
    }

    @Test
    void otherShapesFailOnAllRanks() {
        World.run(
                2,
                comm -> {
                    LinearImpl layer = new LinearImpl(2, 3 + comm.rank());
                    assertThatThrownBy(
                                    () ->
                                            TorchParameters.broadcast(
                                                    comm, TorchParameters.named(layer), 0))
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("rank 1: has 'weight' as float32[4, 2]");
                });
    }

    @Test
    void optimizerStateOfRootReplacesOwn() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    Optimizer adam =
                            new Adam(
                                    network.parameters(), new AdamOptions(0.1 * (comm.rank() + 1)));
                    for (int step = 0; step <= comm.rank(); step++) {
                        adam.zero_grad();
                        network.pass(step * 4, step * 4 + 4);
                        adam.step();
                    }
                    TorchParameters.broadcast(comm, TorchParameters.named(network), 1);
                    TorchOptimizerState.broadcast(comm, adam, 1);
                    assertThat(adam.param_groups().get(0).options().get_lr()).isEqualTo(0.2);
                    adam.zero_grad();
                    network.pass(8, 12);
                    adam.step();
                    Tensor all =
                            new TensorCollectives(comm)
                                    .allgather(
                                            "weights",
                                            TensorMemory.newTensor(
                                                    org.horovod4j.Tensor.of(
                                                            network.weights(),
                                                            1,
                                                            network.weights().length)));
                    float[] both = TensorMemory.view(all).toFloatArray();
                    int half = both.length / 2;
                    assertThat(Arrays.copyOfRange(both, half, both.length))
                            .containsExactly(Arrays.copyOf(both, half));
                });
    }

    /// libtorch leaves state unchanged that is not in an archive.
    @Test
    void stateFromBeforeFirstStepHasNoMomentum() {
        Map<String, Function<TestNetwork, Optimizer>> kinds =
                Map.of(
                        "sgd", TestNetwork::sgd,
                        "adam", TestNetwork::adam,
                        "adamw", it -> new AdamW(it.parameters(), new AdamWOptions(0.01)),
                        "rmsprop", it -> new RMSprop(it.parameters(), new RMSpropOptions(0.01)),
                        "adagrad", it -> new Adagrad(it.parameters(), new AdagradOptions(0.01)));
        kinds.forEach(
                (name, kind) -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    Optimizer optimizer = kind.apply(network);
                    byte[] start = TorchOptimizerState.save(optimizer);
                    step(network, optimizer, 0);
                    step(network, optimizer, 4);
                    TestNetwork other = TorchProcesses.newNetwork();
                    TorchParameters.named(network)
                            .forEach(
                                    (each, tensor) ->
                                            TensorMemory.write(
                                                    other.parameter(each),
                                                    TensorMemory.view(tensor)));
                    TorchOptimizerState.load(optimizer, start);
                    Optimizer fresh = kind.apply(other);
                    for (int from = 8; from < 16; from += 4) {
                        step(network, optimizer, from);
                        step(other, fresh, from);
                    }
                    assertThat(network.weights()).as(name).containsExactly(other.weights());
                });
    }

    private static void step(TestNetwork network, Optimizer optimizer, int from) {
        optimizer.zero_grad();
        network.pass(from, from + 4);
        optimizer.step();
    }

    @Test
    void rootWithoutStepsClearsStateOfOthers() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    Optimizer sgd = network.sgd();
                    if (comm.rank() == 1) {
                        step(network, sgd, 0);
                    }
                    TorchParameters.broadcast(comm, TorchParameters.named(network), 0);
                    TorchOptimizerState.broadcast(comm, sgd, 0);
                    step(network, sgd, 4);
                    TestNetwork expected = TorchProcesses.newNetwork();
                    step(expected, expected.sgd(), 4);
                    assertThat(network.weights()).containsExactly(expected.weights());
                });
    }

    @Test
    void momentumWithDampeningCannotBeCleared() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    SGDOptions options = new SGDOptions(0.1);
                    options.momentum().put(0.9);
                    options.dampening().put(0.5);
                    Optimizer sgd = new SGD(network.parameters(), options);
                    byte[] start = TorchOptimizerState.save(sgd);
                    if (comm.rank() == 1) {
                        step(network, sgd, 0);
                        assertThatThrownBy(() -> TorchOptimizerState.load(sgd, start))
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("saved before the first step");
                    }
                    assertThatThrownBy(() -> TorchOptimizerState.broadcast(comm, sgd, 0))
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("rank 1: has made steps by SGD with dampening");
                });
    }

    @Test
    void otherOptimizerFailsOnAllRanks() {
        World.run(
                2,
                comm -> {
                    TestNetwork network = TorchProcesses.newNetwork();
                    Optimizer optimizer = comm.rank() == 0 ? network.adam() : network.sgd();
                    assertThatThrownBy(() -> TorchOptimizerState.broadcast(comm, optimizer, 0))
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining(
                                    "rank 1: uses SGD with 4 parameters, the root rank Adam with 4");
                });
    }

    @Test
    void complexTensorsAreRefused() {
        World.run(
                1,
                comm -> {
                    TensorCollectives collectives = new TensorCollectives(comm);
                    try (Tensor complex =
                            torch.zeros(new long[] {2}).to(torch.ScalarType.ComplexFloat)) {
                        assertThatThrownBy(() -> collectives.allreduce("x", complex, ReduceOp.SUM))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining(
                                        "a tensor of ComplexFloat cannot be exchanged between ranks");
                    }
                });
    }

    @Test
    void collectivesReturnNewTensors() {
        World.run(
                2,
                comm -> {
                    TensorCollectives hvd = new TensorCollectives(comm);
                    float[] values = {comm.rank() + 1, 2};
                    Tensor own = TensorMemory.newTensor(org.horovod4j.Tensor.of(values, 2));
                    assertThat(floats(hvd.allreduce("sum", own, ReduceOp.SUM)))
                            .containsExactly(3, 4);
                    assertThat(floats(own)).containsExactly(values);
                    assertThat(floats(hvd.broadcast("root", own, 1))).containsExactly(2, 2);
                    assertThat(floats(hvd.allgather("all", own))).containsExactly(1, 2, 2, 2);
                    assertThat(floats(hvd.reducescatter("part", own, ReduceOp.SUM)))
                            .containsExactly(comm.rank() == 0 ? 3 : 4);
                    assertThat(floats(hvd.alltoall("rows", own, AlltoallOptions.splits(1, 1))))
                            .containsExactly(
                                    comm.rank() == 0 ? new float[] {1, 2} : new float[] {2, 2});
                });
    }

    @Test
    void transposedTensorsAreExchanged() {
        World.run(
                2,
                comm -> {
                    float[] values = {1, 2, 3, 4, 5, 6};
                    Tensor own = TensorMemory.newTensor(org.horovod4j.Tensor.of(values, 2, 3)).t();
                    own.mul_(new Scalar(comm.rank() + 1f));
                    assertThat(own.is_contiguous()).isFalse();
                    assertThat(
                                    floats(
                                            new TensorCollectives(comm)
                                                    .allreduce("x", own, ReduceOp.SUM)))
                            .containsExactly(3, 12, 6, 15, 9, 18);
                    TorchParameters.broadcast(comm, Map.of("x", own), 1);
                    assertThat(own.is_contiguous()).isFalse();
                    assertThat(floats(own)).containsExactly(2, 8, 4, 10, 6, 12);
                });
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.view(tensor).toFloatArray();
    }
}
