package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/// The MXNet engine with both of DJL's parameter servers.
class MxNetIT {
    private static final int STEPS = 20;
    private static final int BATCH = 8;

    private record Outcome(
            List<float[]> weights, List<float[]> gradients, String engine, boolean overlaps) {}

    @ParameterizedTest(name = "local parameter server: {0}")
    @ValueSource(booleans = {true, false})
    void twoRanksOnHalfBatchesEqualOneProcess(boolean localServer) {
        Outcome whole = train(0, BATCH, block -> sgd());

        List<Outcome> ranks =
                DjlProcesses.launcher(2, "-Dai.djl.use_local_parameter_server=" + localServer)
                        .environment(Map.of("OMP_NUM_THREADS", "1"))
                        .run(MxNetIT::trainMyShare);

        assertThat(ranks)
                .allSatisfy(
                        rank -> {
                            assertThat(rank.engine).isEqualTo("MXNet");
                            assertThat(rank.overlaps).isFalse();
                        });
        for (int i = 0; i < whole.weights.size(); i++) {
            float[] expected = whole.weights.get(i);
            float[] first = ranks.getFirst().weights.get(i);
            assertThat(first).containsExactly(ranks.getLast().weights.get(i));
            assertThat(first).containsExactly(expected, within(1e-5f));
        }
    }

    @Test
    void stepThrowsWhenRanksStartWithDifferentParameters() {
        List<String> messages = TestTraining.ranks(2).run(MxNetIT::stepWithDifferentParameters);

        assertThat(messages)
                .allSatisfy(
                        message ->
                                assertThat(message)
                                        .startsWith("the ranks start with different parameters"));
    }

    private static String stepWithDifferentParameters(Communicator comm) {
        MismatchException failure =
                catchThrowableOfType(
                        MismatchException.class,
                        () ->
                                train(
                                        0,
                                        BATCH,
                                        block -> {
                                            initialise(block, comm.rank());
                                            return wrap(block, comm).build();
                                        }));
        return Objects.requireNonNull(failure.getMessage());
    }

    @Test
    void onlyOneBackwardPassPerStepIsAllowed() {
        World.run(
                1,
                comm -> {
                    assertTwoPassesAreRejected(comm);
                    Outcome outcome = train(0, BATCH, block -> wrap(block, comm).build());
                    // a parameter without a gradient in the next pass is not updated by an old one
                    assertThat(outcome.gradients)
                            .allSatisfy(gradient -> assertThat(gradient).containsOnly(0));
                });
    }

    private static void assertTwoPassesAreRejected(Communicator comm) {
        try (Model model = Model.newInstance("network", Device.cpu(), "MXNet")) {
            Block block = Linear.builder().setUnits(2).build();
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 3));
            DistributedOptimizer.Builder two = wrap(block, comm).backwardPassesPerStep(2);
            assertThatIllegalArgumentException()
                    .isThrownBy(two::build)
                    .withMessageContaining("overwrites the gradients");
            DistributedOptimizer one = wrap(block, comm).build();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> one.setBackwardPassesPerStep(2))
                    .withMessageContaining("overwrites the gradients");
        }
    }

    private static DistributedOptimizer.Builder wrap(Block block, Communicator comm) {
        return DistributedOptimizer.wrap(sgd(), block).communicator(comm);
    }

    private static Outcome trainMyShare(Communicator comm) {
        int share = BATCH / comm.size();
        return train(
                comm.rank() * share,
                (comm.rank() + 1) * share,
                block -> DistributedOptimizer.wrap(sgd(), block).build());
    }

    private static Optimizer sgd() {
        return Optimizer.sgd()
                .setLearningRateTracker(Tracker.fixed(0.1f))
                .optMomentum(0.5f)
                .build();
    }

    /// Trains on samples `from` to `to` of each batch.
    private static Outcome train(int from, int to, Function<Block, Optimizer> wrap) {
        try (Model model = Model.newInstance("network", Device.cpu(), "MXNet")) {
            SequentialBlock block =
                    new SequentialBlock()
                            .add(
                                    Conv2d.builder()
                                            .setKernelShape(new Shape(2, 2))
                                            .setFilters(3)
                                            .build())
                            .add(Activation::tanh)
                            .add(Blocks.batchFlattenBlock())
                            .add(Linear.builder().setUnits(2).build());
            initialise(block, 0);
            model.setBlock(block);
            Optimizer optimizer = wrap.apply(block);
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.l2Loss())
                            .optOptimizer(optimizer)
                            .optDevices(new Device[] {Device.cpu()});
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 1, 4, 4));
                for (int step = 0; step < STEPS; step++) {
                    step(trainer, BATCH * step + from, BATCH * step + to);
                }
                return new Outcome(
                        weights(block),
                        gradients(block),
                        trainer.getManager().getEngine().getEngineName(),
                        optimizer instanceof DistributedOptimizer distributed
                                && distributed.overlap().isUsed());
            }
        }
    }

    /// @param from different parameters for different numbers
    private static void initialise(Block block, int from) {
        block.setInitializer(
                (manager, shape, type) ->
                        waves(manager, from, from + 1, shape.size()).reshape(shape),
                (Parameter _) -> true);
    }

    private static void step(Trainer trainer, int from, int to) {
        try (NDManager manager = trainer.getManager().newSubManager()) {
            NDList inputs = new NDList(waves(manager, from, to, 16).reshape(to - from, 1, 4, 4));
            NDList labels = new NDList(waves(manager, from + 1000, to + 1000, 2));
            try (GradientCollector collector = trainer.newGradientCollector()) {
                NDList predictions = trainer.forward(inputs);
                collector.backward(trainer.getLoss().evaluate(labels, predictions));
            }
            trainer.step();
        }
    }

    private static List<float[]> weights(Block block) {
        List<float[]> weights = new ArrayList<>();
        block.getParameters()
                .forEach(parameter -> weights.add(parameter.getValue().getArray().toFloatArray()));
        return weights;
    }

    private static List<float[]> gradients(Block block) {
        List<float[]> gradients = new ArrayList<>();
        for (Parameter parameter : block.getParameters().values()) {
            gradients.add(parameter.getArray().getGradient().toFloatArray());
        }
        return gradients;
    }

    private static NDArray waves(NDManager manager, int from, int to, long width) {
        float[] values = new float[Math.toIntExact((to - from) * width)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.sin(1.3 * (from * width + i));
        }
        return manager.create(values, new Shape(to - from, width)).toType(DataType.FLOAT32, false);
    }
}
