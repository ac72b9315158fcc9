package org.horovod4j.djl;

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
import ai.djl.nn.norm.BatchNorm;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.training.optimizer.Optimizer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/// Small networks, equal on every rank.
public final class SmallNetwork {
    public static final int INPUTS = 6;
    public static final int CLASSES = 3;
    private static final int HIDDEN = 5;

    private SmallNetwork() {}

    /// Two layers with a batch norm between them.
    public static Block build() {
        return build(HIDDEN);
    }

    private static Block build(int hidden) {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(hidden).build())
                .add(BatchNorm.builder().build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    public static Model model() {
        return model("PyTorch");
    }

    private static Model model(String engine) {
        Model model = Model.newInstance("small", engine);
        model.setBlock(build());
        return model;
    }

    /// A model with random parameters, different in each call.
    public static Model initialised() {
        return initialised("PyTorch");
    }

    public static Model initialised(String engine) {
        return initialised(engine, HIDDEN);
    }

    /// The same with a first layer of this size.
    ///
    /// @param hidden units of the first layer
    public static Model initialised(String engine, int hidden) {
        Model model = Model.newInstance("small", engine);
        Block block = build(hidden);
        model.setBlock(block);
        block.setInitializer(new NormalInitializer(0.5f), parameter -> true);
        block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, INPUTS));
        return model;
    }

    /// Updates all trainable parameters a few times with random gradients.
    public static void train(Model model, Optimizer optimizer, int times) {
        for (int i = 0; i < times; i++) {
            for (Parameter parameter : model.getBlock().getParameters().values()) {
                if (parameter.requiresGradient()) {
                    NDManager manager = model.getNDManager();
                    try (NDArray gradient = manager.randomNormal(parameter.getShape())) {
                        optimizer.update(parameter.getId(), parameter.getArray(), gradient);
                    }
                }
            }
        }
    }

    /// Computes gradients of a random batch and makes a step, as a trainer does.
    public static void step(Model model, Optimizer optimizer) {
        Block block = model.getBlock();
        List<Parameter> trained =
                block.getParameters().values().stream()
                        .filter(Parameter::requiresGradient)
                        .toList();
        trained.forEach(parameter -> parameter.getArray().setRequiresGradient(true));
        try (NDManager batch = model.getNDManager().newSubManager();
                GradientCollector collector =
                        model.getNDManager().getEngine().newGradientCollector()) {
            NDArray inputs = batch.randomNormal(new Shape(4, INPUTS));
            NDArray outputs =
                    block.forward(new ParameterStore(batch, false), new NDList(inputs), true)
                            .singletonOrThrow();
            collector.backward(outputs.square().sum());
        }
        for (Parameter parameter : trained) {
            NDArray weight = parameter.getArray();
            try (NDArray gradient = weight.getGradient()) {
                optimizer.update(parameter.getId(), weight, gradient);
            }
            try (NDArray gradient = weight.getGradient()) {
                gradient.subi(gradient);
            }
        }
    }

    /// All elements by array name, for comparison.
    public static List<String> contents(Map<String, NDArray> arrays) {
        List<String> contents = new ArrayList<>();
        arrays.forEach((name, array) -> contents.add(name + Arrays.toString(array.toFloatArray())));
        return contents;
    }
}
