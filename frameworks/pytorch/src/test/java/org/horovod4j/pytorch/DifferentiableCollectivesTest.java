package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.function.UnaryOperator;

/// Two ranks have the rows 1, 2 and 3, 4. The loss of a rank weighs the elements of its result.
class DifferentiableCollectivesTest {
    @BeforeAll
    static void load() {
        HvdTorch.load();
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.view(tensor).toFloatArray();
    }

    private static Tensor tensor(float... values) {
        return TensorMemory.newTensor(org.horovod4j.Tensor.of(values, values.length));
    }

    private static Tensor input(Communicator comm) {
        return tensor(comm.rank() * 2 + 1, comm.rank() * 2 + 2).set_requires_grad(true);
    }

    /// Computes a result and the gradient of the input.
    private static float[] gradient(
            Tensor input, UnaryOperator<Tensor> collective, float[] expected, float... weights) {
        Tensor result = collective.apply(input);
        assertThat(floats(result)).containsExactly(expected);
        torch.mul(result, tensor(weights)).sum().backward();
        return floats(input.grad());
    }

    @Test
    void gradientOfAllreduceIsReduced() {
        World.run(
                2,
                comm ->
                        assertThat(
                                        gradient(
                                                input(comm),
                                                x ->
                                                        DifferentiableCollectives.allreduce(
                                                                comm, "sum", x, ReduceOp.SUM),
                                                new float[] {4, 6},
                                                comm.rank() + 1,
                                                10))
                                .containsExactly(3, 20));
    }

    @Test
    void gradientOfAllgatherIsThatOfOwnRows() {
        World.run(
                2,
                comm ->
                        assertThat(
                                        gradient(
                                                input(comm),
                                                x ->
                                                        DifferentiableCollectives.allgather(
                                                                comm, "all", x),
                                                new float[] {1, 2, 3, 4},
                                                1,
                                                2,
                                                3,
                                                4))
                                .containsExactly(
                                        comm.rank() == 0
                                                ? new float[] {2, 4}
                                                : new float[] {6, 8}));
    }

    @Test
    void gradientOfBroadcastGoesToRoot() {
        World.run(
                2,
                comm ->
                        assertThat(
                                        gradient(
                                                input(comm),
                                                x ->
                                                        DifferentiableCollectives.broadcast(
                                                                comm, "root", x, 1),
                                                new float[] {3, 4},
                                                comm.rank() + 1,
                                                5))
                                .containsExactly(
                                        comm.rank() == 1
                                                ? new float[] {3, 10}
                                                : new float[] {0, 0}));
    }

    @Test
    void gradientOfAlltoallReturns() {
        World.run(
                2,
                comm ->
                        assertThat(
                                        gradient(
                                                input(comm),
                                                x ->
                                                        DifferentiableCollectives.alltoall(
                                                                comm,
                                                                "rows",
                                                                x,
                                                                AlltoallOptions.splits(1, 1)),
                                                comm.rank() == 0
                                                        ? new float[] {1, 3}
                                                        : new float[] {2, 4},
                                                comm.rank() * 10 + 1,
                                                comm.rank() * 10 + 2))
                                .containsExactly(
                                        comm.rank() == 0
                                                ? new float[] {1, 11}
                                                : new float[] {2, 12}));
    }

    @Test
    void gradientOfReducescatterIsGathered() {
        World.run(
                2,
                comm ->
                        assertThat(
                                        gradient(
                                                input(comm),
                                                x ->
                                                        DifferentiableCollectives.reducescatter(
                                                                comm, "part", x, ReduceOp.AVERAGE),
                                                new float[] {comm.rank() + 2},
                                                comm.rank() + 5))
                                .containsExactly(5, 6));
    }

    @Test
    void maximumHasNoGradient() {
        World.run(
                1,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                DifferentiableCollectives.allreduce(
                                                        comm, "max", input(comm), ReduceOp.MAX))
                                .hasMessageContaining(
                                        "differentiable allreduce of 'max': MAX has no gradient"));
    }
}
