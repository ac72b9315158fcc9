package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

class DifferentiableCollectivesIT {
    /// The result of an allreduce on one rank, and the gradient of its input.
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Outcome(
            float[] sum,
            float[] sumGradient,
            float[] average,
            float[] averageGradient,
            float[] transposed,
            float[] transposedGradient,
            float[] withoutGradient,
            String mxnet,
            String maximum) {}

    @Test
    void gradientOfAllreduceIsAllreduced() {
        List<Outcome> outcomes = TestTraining.ranks(3).run(DifferentiableCollectivesIT::reduce);

        for (Outcome outcome : outcomes) {
            // rank r has x = (r + 1, 2(r + 1)) and the loss (r + 1) * (y0 + 10 y1)
            assertThat(outcome.sum).containsExactly(6, 12);
            assertThat(outcome.sumGradient).containsExactly(6, 60);
            assertThat(outcome.average).containsExactly(2, 4);
            assertThat(outcome.averageGradient).containsExactly(2, 20);
            assertThat(outcome.transposed).containsExactly(0, 9, 3, 12, 6, 15);
            assertThat(outcome.transposedGradient).containsExactly(6, 6, 6, 6, 6, 6);
            assertThat(outcome.withoutGradient).containsExactly(3, 3);
            assertThat(outcome.mxnet)
                    .isEqualTo(
                            """
                            differentiable allreduce of 'x': there are no hooks on gradients: engine \
                            MXNet has no hooks; it computes backward asynchronously
                            Backward cannot differentiate through it. See docs/djl-engines.md.""");
            assertThat(outcome.maximum)
                    .isEqualTo(
                            """
                            differentiable allreduce of 'x': MAX has no gradient that can be reduced
                            Use AVERAGE or SUM.""");
        }
    }

    /// The gradients of the inputs of other collectives on one rank.
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Gradients(
            float[] gathered,
            float[] allgather,
            float[] broadcast,
            float[] exchanged,
            float[] alltoall,
            float[] part,
            float[] reducescatterSum,
            float[] reducescatterAverage) {}

    /// The loss of rank r is r + 1 times the sum of its result.
    @Test
    void gradientsPassThroughOtherCollectives() {
        List<Gradients> ranks = TestTraining.ranks(3).run(DifferentiableCollectivesIT::gradients);

        for (Gradients each : ranks) {
            assertThat(each.gathered).containsExactly(1, 1, 2, 2, 2, 2);
            assertThat(each.alltoall)
                    .as("the last row is not sent")
                    .containsExactly(1, 2, 2, 3, 3, 3, 0);
            assertThat(each.reducescatterSum).containsExactly(3, 3, 6, 9);
            assertThat(each.reducescatterAverage).containsExactly(1, 1, 2, 3);
        }
        assertThat(ranks.get(0).allgather).as("no rows").isEmpty();
        assertThat(ranks.get(1).allgather).containsExactly(6, 6);
        assertThat(ranks.get(2).allgather).containsExactly(6, 6, 6, 6);
        assertThat(ranks.get(0).broadcast).containsExactly(0, 0);
        assertThat(ranks.get(1).broadcast).containsExactly(6, 6);
        assertThat(ranks.get(2).broadcast).containsExactly(0, 0);
        assertThat(ranks.get(0).exchanged).containsExactly(0, 10, 20);
        assertThat(ranks.get(1).exchanged).containsExactly(1, 2, 11, 12, 21, 22);
        assertThat(ranks.get(2).exchanged).containsExactly(3, 4, 5, 13, 14, 15, 23, 24, 25);
        assertThat(ranks.get(0).part).containsExactly(30, 33);
        assertThat(ranks.get(1).part).containsExactly(36);
        assertThat(ranks.get(2).part).containsExactly(39);
    }

    private static Gradients gradients(Communicator comm) {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch");
                GradientCollector collector = manager.getEngine().newGradientCollector()) {
            int rank = comm.rank();
            NDArray rows = manager.full(new Shape(rank, 2), (float) rank);
            NDArray pair = manager.create(new float[] {rank, 2 * rank});
            NDArray seven = manager.arange(7f).add(10 * rank);
            NDArray four = manager.arange(4f).add(10 * rank);
            for (NDArray input : List.of(rows, pair, seven, four)) {
                input.setRequiresGradient(true);
            }
            NDArray gathered = DifferentiableCollectives.allgather(comm, "gather", rows);
            backward(collector, comm, gathered);
            backward(collector, comm, DifferentiableCollectives.broadcast(comm, "root", pair, 1));
            AlltoallArray exchanged =
                    DifferentiableCollectives.alltoall(
                            comm, "exchange", seven, AlltoallOptions.splits(1, 2, 3));
            backward(collector, comm, exchanged.array());
            NDArray sum = DifferentiableCollectives.reducescatter(comm, "part", four, ReduceOp.SUM);
            backward(collector, comm, sum);
            float[] sumGradient = four.getGradient().toFloatArray();
            four.getGradient().muli(0);
            backward(
                    collector,
                    comm,
                    DifferentiableCollectives.reducescatter(comm, "mean", four, ReduceOp.AVERAGE));
            return new Gradients(
                    gathered.toFloatArray(),
                    rows.getGradient().toFloatArray(),
                    pair.getGradient().toFloatArray(),
                    exchanged.array().toFloatArray(),
                    seven.getGradient().toFloatArray(),
                    sum.toFloatArray(),
                    sumGradient,
                    four.getGradient().toFloatArray());
        }
    }

    private static void backward(GradientCollector collector, Communicator comm, NDArray result) {
        NDArray factors = result.getManager().full(result.getShape(), comm.rank() + 1);
        collector.backward(result.mul(factors).sum());
    }

    /// If a gradient is not reduced, the step of the rank fails and the weights do not change, even
    /// without overlap. The end of its program makes the other rank fail too.
    @Test
    void failedAllreduceInBackwardFailsStep(@TempDir Path folder) {
        String other = folder.resolve("other").toString();
        assertThatExceptionOfType(LaunchException.class)
                .isThrownBy(() -> TestTraining.ranks(2).execute(comm -> train(comm, other)))
                .withMessageContaining("rank 1")
                .withMessageContaining("'x.gradient'");
        assertThat(Path.of(other)).content().contains("PeerLostException", "rank 1");
    }

    private static void train(Communicator comm, String failureFile) throws IOException {
        try (TestTraining testTraining =
                new TestTraining(
                        TestTraining.network(),
                        block ->
                                DistributedOptimizer.wrap(TestTraining.sgd(), block)
                                        .communicator(comm)
                                        .overlap(false)
                                        .build(),
                        TestTraining.INPUT)) {
            float[] before = testTraining.weights();
            Throwable failure =
                    catchThrowable(
                            () -> {
                                while (true) {
                                    pass(comm, testTraining);
                                    testTraining.step();
                                }
                            });
            if (comm.rank() == 0) {
                Files.writeString(Path.of(failureFile), failure.toString());
            } else {
                assertThat(testTraining.weights()).containsExactly(before);
                throw new IllegalStateException(failure);
            }
        }
    }

    /// Backward through a sum over all ranks, in which rank 1 does not take part.
    private static void pass(Communicator comm, TestTraining testTraining) {
        try (NDManager scratch = testTraining.model.getNDManager().newSubManager();
                GradientCollector collector = testTraining.trainer.newGradientCollector()) {
            NDList input = new NDList(TestTraining.samples(scratch, 0, 1, TestTraining.INPUTS, 0));
            NDArray output = testTraining.trainer.forward(input).singletonOrThrow();
            BackwardHooks.Available hooks =
                    (BackwardHooks.Available) EngineAccess.of(scratch).hooks(HookChoice.AUTO);
            hooks.transformGradient(
                    output,
                    gradient -> {
                        Tensor tensor = Tensor.of(gradient, DataType.FLOAT32, TestTraining.OUTPUTS);
                        comm.allreduce("x.gradient", tensor, ReduceOp.SUM);
                        if (comm.rank() == 1) {
                            throw new IllegalStateException("no room for 'x.gradient'");
                        }
                    });
            collector.backward(output.sum());
        }
    }

    /// A backward pass that fails on one rank.
    ///
    /// @param result of the forward pass
    /// @param gradient of its input
    /// @param failure what the next call throws
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record FailedPass(float[] result, float[] gradient, String failure) {}

    /// One row for two ranks: rank 1 gets none, and no NaN can come from its result.
    @Test
    void failedBackwardMakesGradientNanIfResultHasNoRows() {
        List<FailedPass> ranks = TestTraining.ranks(2).run(DifferentiableCollectivesIT::failedPass);

        assertThat(ranks.get(0).result).hasSize(1);
        assertThat(ranks.get(1).result).isEmpty();
        for (FailedPass each : ranks) {
            assertThat(each.gradient).containsExactly(Float.NaN);
            assertThat(each.failure).contains("row.gradient");
        }
    }

    private static FailedPass failedPass(Communicator comm) {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch");
                GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray row = manager.ones(new Shape(1));
            row.setRequiresGradient(true);
            NDArray part = DifferentiableCollectives.reducescatter(comm, "row", row, ReduceOp.SUM);
            if (comm.rank() == 1) {
                // The name is in use when backward needs it. Rank 0 then finds another collective.
                Handle<Tensor> other =
                        comm.allreduceAsync("row.gradient", Tensor.of(new float[1]), ReduceOp.SUM);
                backward(collector, comm, part);
                comm.barrier();
                assertThat(catchThrowable(other::join)).isInstanceOf(MismatchException.class);
            } else {
                comm.barrier();
                backward(collector, comm, part);
            }
            return new FailedPass(
                    part.toFloatArray(),
                    row.getGradient().toFloatArray(),
                    errorMessage(() -> allreduce(comm, row, ReduceOp.SUM)));
        }
    }

    private static Outcome reduce(Communicator comm) {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch");
                NDManager other = NDManager.newBaseManager(Device.cpu(), "MXNet")) {
            int factor = comm.rank() + 1;
            NDArray x = manager.create(new float[] {factor, 2 * factor});
            x.setRequiresGradient(true);
            NDArray losses = manager.create(new float[] {factor, 10 * factor});
            NDArray base = manager.arange(6f).reshape(2, 3);
            base.setRequiresGradient(true);
            float[] sum;
            float[] sumGradient;
            float[] average;
            float[] transposed;
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                NDArray y = allreduce(comm, x, ReduceOp.SUM);
                sum = y.toFloatArray();
                collector.backward(y.mul(losses).sum());
                sumGradient = x.getGradient().toFloatArray();
                x.getGradient().muli(0);

                NDArray mean = allreduce(comm, x, ReduceOp.AVERAGE);
                average = mean.toFloatArray();
                collector.backward(mean.mul(losses).sum());

                NDArray flipped = allreduce(comm, base.transpose(), ReduceOp.SUM);
                transposed = flipped.toFloatArray();
                NDArray factors = manager.full(flipped.getShape(), factor);
                collector.backward(flipped.mul(factors).sum());
            }
            float[] constant =
                    allreduce(comm, manager.ones(new Shape(2)), ReduceOp.SUM).toFloatArray();
            return new Outcome(
                    sum,
                    sumGradient,
                    average,
                    x.getGradient().toFloatArray(),
                    transposed,
                    base.getGradient().toFloatArray(),
                    constant,
                    errorMessage(() -> allreduce(comm, other.ones(new Shape(2)), ReduceOp.SUM)),
                    errorMessage(() -> allreduce(comm, x, ReduceOp.MAX)));
        }
    }

    private static NDArray allreduce(Communicator comm, NDArray array, ReduceOp op) {
        return DifferentiableCollectives.allreduce(comm, "x", array, op);
    }

    private static String errorMessage(Runnable action) {
        return Objects.toString(catchThrowable(action::run).getMessage());
    }
}
