package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.Pair;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.launcher.Launcher;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/// A small network with a trainer, equal on every rank: formulas give weights and samples.
final class TestTraining implements AutoCloseable {
    static final int INPUTS = 5;
    static final int OUTPUTS = 3;
    static final Shape INPUT = new Shape(1, INPUTS);

    final Model model;
    final Trainer trainer;
    private final Optimizer optimizer;

    /// @param wrap creates the optimizer for an initialised block
    TestTraining(Block block, Function<Block, ? extends Optimizer> wrap, Shape... inputs) {
        this(Device.cpu(), block, wrap, inputs);
    }

    /// @param wrap creates the optimizer for an initialised block
    TestTraining(
            Device device,
            Block block,
            Function<Block, ? extends Optimizer> wrap,
            Shape... inputs) {
        this(initialised(device, block, inputs), wrap, inputs);
    }

    private TestTraining(Model model, Function<Block, ? extends Optimizer> wrap, Shape... inputs) {
        this.model = model;
        optimizer = wrap.apply(model.getBlock());
        trainer =
                model.newTrainer(
                        new DefaultTrainingConfig(Loss.l2Loss())
                                .optOptimizer(optimizer)
                                .optDevices(new Device[] {model.getNDManager().getDevice()}));
        trainer.initialize(inputs);
    }

    private static Model model(Device device, Block block) {
        Model model = Model.newInstance("trial", device, "PyTorch");
        model.setBlock(block);
        return model;
    }

    private static Model initialised(Device device, Block block, Shape... inputs) {
        Model model = model(device, block);
        block.setInitializer(new SineInitializer(), (Parameter _) -> true);
        block.initialize(model.getNDManager(), DataType.FLOAT32, inputs);
        return model;
    }

    /// A network that is loaded from the folder of `Model.save`.
    static TestTraining loaded(Path folder, Function<Block, ? extends Optimizer> wrap) {
        Model model = model(Device.cpu(), network());
        try {
            model.load(folder);
        } catch (IOException | MalformedModelException e) {
            throw new AssertionError(e);
        }
        return new TestTraining(model, wrap, INPUT);
    }

    void save(Path folder) {
        try {
            model.save(folder, "trial");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    DistributedOptimizer optimizer() {
        return (DistributedOptimizer) optimizer;
    }

    /// Processes that compute with one thread each, since tests share the machine.
    static Launcher ranks(int count) {
        return DjlProcesses.launcher(count).environment(Map.of("OMP_NUM_THREADS", "1"));
    }

    /// Processes that use all processors of the host.
    static Launcher ranksOnAllProcessors(int count) {
        String all = Integer.toString(Runtime.getRuntime().availableProcessors());
        return DjlProcesses.launcher(count).environment(Map.of("OMP_NUM_THREADS", all));
    }

    static Block network() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(Activation::tanh)
                .add(Linear.builder().setUnits(7).build())
                .add(Activation::tanh)
                .add(Linear.builder().setUnits(OUTPUTS).build());
    }

    static Optimizer sgd() {
        return Optimizer.sgd()
                .setLearningRateTracker(Tracker.fixed(0.2f))
                .optMomentum(0.5f)
                .build();
    }

    /// One backward pass over samples `from` to `to` of the data.
    void pass(int from, int to) {
        try (NDManager scratch = model.getNDManager().newSubManager();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDList inputs = new NDList(samples(scratch, from, to, INPUTS, 0));
            NDList labels = new NDList(samples(scratch, from, to, OUTPUTS, 1));
            scratch.tempAttachAll(inputs, labels);
            NDList predictions = trainer.forward(inputs);
            NDArray loss = trainer.getLoss().evaluate(labels, predictions);
            collector.backward(loss);
            scratch.attachAll(predictions);
            loss.close();
        }
    }

    static NDArray samples(NDManager manager, int from, int to, int width, int phase) {
        float[] values = new float[(to - from) * width];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.sin(1.7 * (from * width + i) + phase);
        }
        return manager.create(values, new Shape(to - from, width));
    }

    void step() {
        trainer.step();
    }

    /// All weights, one parameter after the other.
    float[] weights() {
        return weights(model.getBlock());
    }

    static float[] weights(Block block) {
        return flatten(block.getParameters().values().stream().map(Parameter::getArray).toList());
    }

    float[] weight(String name) {
        return model.getBlock().getParameters().get(name).getArray().toFloatArray();
    }

    /// The number of arrays of the model, which must not grow with steps.
    int arrayCount() {
        return model.getNDManager().getManagedArrays().size();
    }

    Parameter parameter(String name) {
        return model.getBlock().getParameters().get(name);
    }

    float[] gradient(String name) {
        try (NDArray gradient = parameter(name).getArray().getGradient()) {
            return gradient.toFloatArray();
        }
    }

    List<String> names() {
        return model.getBlock().getParameters().keys();
    }

    Map<String, float[]> gradients() {
        Map<String, float[]> gradients = new LinkedHashMap<>();
        for (Pair<String, Parameter> parameter : model.getBlock().getParameters()) {
            gradients.put(parameter.getKey(), gradient(parameter.getKey()));
        }
        return gradients;
    }

    /// Asserts that all ranks have the same bits.
    static void assertSameOnAllRanks(Communicator comm, float[] values) {
        float[] all = comm.allgather("compared", Tensor.of(values)).toFloatArray();
        for (int rank = 0; rank < comm.size(); rank++) {
            float[] others =
                    Arrays.copyOfRange(all, rank * values.length, (rank + 1) * values.length);
            assertThat(others).as("rank %d", rank).containsExactly(values);
        }
    }

    private static float[] flatten(List<NDArray> arrays) {
        float[] all = new float[arrays.stream().mapToInt(array -> (int) array.size()).sum()];
        int at = 0;
        for (NDArray array : arrays) {
            float[] values = array.toFloatArray();
            System.arraycopy(values, 0, all, at, values.length);
            at += values.length;
        }
        return all;
    }

    @Override
    public void close() {
        trainer.close();
        model.close();
    }

    /// Weights by a formula: all different, all small.
    static final class SineInitializer implements Initializer {
        @Override
        public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
            float[] values = new float[(int) shape.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) Math.sin(0.9 * i + shape.size()) * 0.4f;
            }
            return manager.create(values, shape);
        }
    }
}
