package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.Pair;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/// Processes with batches of different sizes, compared with one process that has all samples and DJL's
/// own block.
class SyncBatchNormIT {
    private static final int STEPS = 3;
    private static final int CHANNELS = 4;
    private static final float TOLERANCE = 2e-5f;

    /// The result of a training.
    ///
    /// @param gradients of each parameter, summed over all steps and ranks
    /// @param running mean and variance
    /// @param parameters the whole network, as DJL saves it
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Outcome(
            List<float[]> outputs,
            List<float[]> inputGradients,
            Map<String, float[]> gradients,
            List<float[]> running,
            float[] evaluated,
            byte[] parameters) {}

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void equalsBatchNormOverBatchesOfAllRanks(int size) throws Exception {
        Outcome whole =
                train(network(BatchNorm.builder().build()), 0, total(size), values -> values);

        List<Outcome> ranks = TestTraining.ranks(size).run(SyncBatchNormIT::trainMyShare);

        for (int step = 0; step < STEPS; step++) {
            assertClose(join(ranks, Outcome::outputs, step), whole.outputs.get(step));
            assertClose(join(ranks, Outcome::inputGradients, step), whole.inputGradients.get(step));
        }
        for (Outcome rank : ranks) {
            assertThat(rank.gradients.keySet()).isEqualTo(whole.gradients.keySet());
            whole.gradients.forEach(
                    (name, sum) ->
                            assertThat(rank.gradients)
                                    .hasEntrySatisfying(name, actual -> assertClose(actual, sum)));
            assertThat(rank.parameters).isEqualTo(ranks.getFirst().parameters);
            assertClose(rank.running.get(0), whole.running.get(0));
            assertClose(rank.running.get(1), whole.running.get(1));
            assertClose(rank.evaluated, whole.evaluated);
            assertThat(loadedIntoPlainNetwork(rank.parameters)).containsExactly(rank.evaluated);
        }
    }

    private static Outcome trainMyShare(Communicator comm) {
        Block norm = SyncBatchNorm.builder().setName("norm").build();
        int from = total(comm.rank());
        return train(
                network(norm),
                from,
                from + share(comm.rank()),
                gradient -> {
                    comm.allreduce("gradient", gradient, ReduceOp.SUM);
                    return gradient;
                });
    }

    /// The number of samples of a rank.
    private static int share(int rank) {
        return 2 + rank;
    }

    /// The number of samples of the ranks before `rank`.
    private static int total(int rank) {
        int samples = 0;
        for (int before = 0; before < rank; before++) {
            samples += share(before);
        }
        return samples;
    }

    /// The whole batch, in rank order.
    private static float[] join(
            List<Outcome> ranks, Function<Outcome, List<float[]>> values, int step) {
        List<Float> all = new ArrayList<>();
        for (Outcome rank : ranks) {
            for (float value : values.apply(rank).get(step)) {
                all.add(value);
            }
        }
        float[] joined = new float[all.size()];
        for (int i = 0; i < joined.length; i++) {
            joined[i] = all.get(i);
        }
        return joined;
    }

    private static void assertClose(float[] actual, float[] expected) {
        assertThat(actual).hasSameSizeAs(expected);
        for (int i = 0; i < actual.length; i++) {
            assertThat(actual[i])
                    .isCloseTo(expected[i], within(TOLERANCE * (1 + Math.abs(expected[i]))));
        }
    }

    private static SequentialBlock network(Block norm) {
        return new SequentialBlock()
                .add(Conv2d.builder().setKernelShape(new Shape(2, 2)).setFilters(CHANNELS).build())
                .add(norm)
                .add(Activation::tanh);
    }

    /// Forward and backward over samples `from` to `to`, with a loss that weights every element
    /// differently, and a step of gradient descent.
    private static Outcome train(
            SequentialBlock block, int from, int to, Function<float[], float[]> sumOverRanks) {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            block.setInitializer(waves(), Parameter.Type.WEIGHT);
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4, 3));
            ParameterStore store = new ParameterStore(manager, false);
            List<float[]> outputs = new ArrayList<>();
            List<float[]> inputGradients = new ArrayList<>();
            Map<String, float[]> gradients = new LinkedHashMap<>();
            for (int step = 0; step < STEPS; step++) {
                NDArray input = samples(manager, from, to, 36, step).reshape(to - from, 3, 4, 3);
                input.setRequiresGradient(true);
                NDArray weights = samples(manager, from, to, 24, step + 10);
                try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                    NDArray output =
                            block.forward(store, new NDList(input), true).singletonOrThrow();
                    outputs.add(output.toFloatArray());
                    collector.backward(
                            output.square().mul(weights.reshape(output.getShape())).sum());
                }
                inputGradients.add(input.getGradient().toFloatArray());
                for (Pair<String, Parameter> parameter : block.getParameters()) {
                    if (parameter.getValue().requiresGradient()) {
                        gradientStep(parameter, gradients, sumOverRanks);
                    }
                }
            }
            NDArray test = samples(manager, 100, 102, 36, 0).reshape(2, 3, 4, 3);
            return new Outcome(
                    outputs,
                    inputGradients,
                    gradients,
                    List.of(running(block, "runningMean"), running(block, "runningVar")),
                    evaluate(block, store, test),
                    save(block));
        }
    }

    private static void gradientStep(
            Pair<String, Parameter> parameter,
            Map<String, float[]> gradients,
            Function<float[], float[]> sumOverRanks) {
        NDArray array = parameter.getValue().getArray();
        float[] sum = sumOverRanks.apply(array.getGradient().toFloatArray());
        String name = parameter.getKey().replace("SyncBatchNorm", "BatchNorm");
        gradients.merge(
                name,
                sum,
                (before, now) -> {
                    float[] both = before.clone();
                    for (int i = 0; i < both.length; i++) {
                        both[i] += now[i];
                    }
                    return both;
                });
        array.subi(array.getManager().create(sum, array.getShape()).mul(0.01f));
        array.getGradient().muli(0);
    }

    private static float[] running(SequentialBlock block, String name) {
        return block.getChildren().valueAt(1).getParameters().get(name).getArray().toFloatArray();
    }

    private static float[] evaluate(Block block, ParameterStore store, NDArray input) {
        return block.forward(store, new NDList(input), false).singletonOrThrow().toFloatArray();
    }

    private static byte[] save(Block block) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            block.saveParameters(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static float[] loadedIntoPlainNetwork(byte[] parameters) throws Exception {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            Block plain = network(BatchNorm.builder().build());
            plain.loadParameters(
                    manager, new DataInputStream(new ByteArrayInputStream(parameters)));
            NDArray test = samples(manager, 100, 102, 36, 0).reshape(2, 3, 4, 3);
            return evaluate(plain, new ParameterStore(manager, false), test);
        }
    }

    private static NDArray samples(NDManager manager, int from, int to, int width, int phase) {
        float[] values = new float[(to - from) * width];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.sin(0.7 * (from * width + i) + phase) + i % 3;
        }
        return manager.create(values, new Shape(to - from, width));
    }

    private static Initializer waves() {
        return (manager, shape, type) ->
                samples(manager, 0, 1, (int) shape.size(), 1).reshape(shape);
    }

    @Test
    void singleRankEqualsBatchNorm() {
        Outcome plain = train(network(BatchNorm.builder().build()), 0, 5, values -> values);

        List<Outcome> alone =
                TestTraining.ranks(1)
                        .run(
                                comm ->
                                        train(
                                                network(
                                                        SyncBatchNorm.builder()
                                                                .setName("norm")
                                                                .build()),
                                                0,
                                                5,
                                                values -> values));

        // not to the last bit: the order of sums in libtorch depends on the alignment of its memory
        assertThat(alone.getFirst().evaluated).containsExactly(plain.evaluated, within(1e-5f));
        assertThat(alone.getFirst().gradients.keySet()).isEqualTo(plain.gradients.keySet());
        alone.getFirst()
                .gradients
                .forEach(
                        (name, gradient) ->
                                assertThat(gradient)
                                        .as(name)
                                        .containsExactly(plain.gradients.get(name), within(1e-5f)));
    }
}
