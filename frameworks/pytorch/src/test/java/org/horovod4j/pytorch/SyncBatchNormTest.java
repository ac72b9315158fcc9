package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Compares with PyTorch's batch norm over the batches of both ranks.
class SyncBatchNormTest {
    private static final int CHANNELS = 3;
    private static final int SIDE = 2;
    private static final Offset<Float> LAST_BITS = Offset.offset(1e-4f);

    @BeforeAll
    static void load() {
        HvdTorch.load();
    }

    private static Tensor images(int seed) {
        return TensorMemory.newTensor(TestNetwork.sines(seed, 4, CHANNELS, SIDE, SIDE));
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.copy(tensor).toFloatArray();
    }

    /// A rank has one image, the other one three.
    @Test
    void equalsBatchNormOverAllBatches() {
        World.run(
                2,
                comm -> {
                    BatchNorm2dImpl whole = new BatchNorm2dImpl(new BatchNormOptions(CHANNELS));
                    Tensor all = images(1).set_requires_grad(true);
                    Tensor expected = whole.forward(all);
                    torch.mul(expected, images(2)).sum().backward();

                    int from = comm.rank();
                    int count = comm.rank() == 0 ? 1 : 3;
                    SyncBatchNorm norm = new SyncBatchNorm("norm", CHANNELS, comm);
                    Tensor input = images(1).narrow(0, from, count).clone().set_requires_grad(true);
                    Tensor result = norm.forward(input);
                    torch.mul(result, images(2).narrow(0, from, count)).sum().backward();

                    assertThat(floats(result))
                            .containsExactly(
                                    floats(expected.detach().narrow(0, from, count).contiguous()),
                                    LAST_BITS);
                    assertThat(floats(input.grad()))
                            .containsExactly(
                                    floats(all.grad().narrow(0, from, count).contiguous()),
                                    LAST_BITS);
                    Map<String, Tensor> own = TorchParameters.withBuffers(norm);
                    Map<String, Tensor> others = TorchParameters.withBuffers(whole);
                    for (String buffer : List.of("running_mean", "running_var")) {
                        assertThat(floats(Objects.requireNonNull(own.get(buffer))))
                                .containsExactly(
                                        floats(Objects.requireNonNull(others.get(buffer))),
                                        LAST_BITS);
                    }
                    assertThat(own.keySet()).isEqualTo(others.keySet());
                    TensorCollectives collectives = new TensorCollectives(comm);
                    for (String parameter : List.of("weight", "bias")) {
                        Tensor part = Objects.requireNonNull(own.get(parameter)).grad();
                        Tensor sum = collectives.allreduce(parameter, part, ReduceOp.SUM);
                        assertThat(floats(sum))
                                .containsExactly(
                                        floats(
                                                Objects.requireNonNull(others.get(parameter))
                                                        .grad()),
                                        LAST_BITS);
                    }
                });
    }

    @Test
    void evaluationUsesRunningStatistics() {
        World.run(
                2,
                comm -> {
                    SyncBatchNorm norm = new SyncBatchNorm("norm", CHANNELS, comm);
                    norm.eval();
                    assertThat(floats(norm.forward(images(1)).detach()))
                            .containsExactly(floats(images(1)), LAST_BITS);
                });
    }

    @Test
    void wrongInputsAreRefused() {
        World.run(
                2,
                comm -> {
                    SyncBatchNorm norm = new SyncBatchNorm("norm", CHANNELS, comm);
                    assertThatThrownBy(() -> norm.forward(torch.ones(4, 2)))
                            .hasMessageContaining("takes inputs with 3 channels");
                    assertThatThrownBy(() -> norm.forward(torch.ones(0, CHANNELS)))
                            .hasMessageContaining("all ranks together have 0 values");
                });
    }
}
