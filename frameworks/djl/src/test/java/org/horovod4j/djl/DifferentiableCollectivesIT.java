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

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
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
        List<Outcome> outcomes =
                Launcher.processes(3)
                        .environment(Map.of("OMP_NUM_THREADS", "1"))
                        .run(DifferentiableCollectivesIT::reduce);

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
