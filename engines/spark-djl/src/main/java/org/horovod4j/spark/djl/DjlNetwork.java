package org.horovod4j.spark.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.loss.Loss;

import org.apache.spark.TaskContext;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.spark.djl.DjlEstimator.Creator;
import org.horovod4j.spark.djl.DjlEstimator.OptimizerCreator;
import org.horovod4j.spark.ml.NetworkFramework;
import org.horovod4j.spark.ml.NetworkPredictor;
import org.horovod4j.spark.ml.RankTraining;
import org.horovod4j.spark.ml.TrainingSetup;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/// A network of DJL.
///
/// @param inputShape of one row; empty if the features are one dimension
/// @param engine null for DJL's choice
/// @param training null for inference
@SuppressWarnings("ArrayRecordComponent") // never compared
record DjlNetwork(
        Creator<? extends Block> block,
        int[] inputShape,
        @Nullable String engine,
        @Nullable Training training)
        implements NetworkFramework {
    /// The name of the files.
    static final String NAME = "network";

    private static final String THREADS = "ai.djl.pytorch.num_threads";

    /// What only training needs.
    record Training(
            Creator<? extends Loss> loss,
            OptimizerCreator optimizer,
            Creator<? extends List<? extends Evaluator>> evaluators)
            implements Serializable {}

    @Override
    public RankTraining start(TrainingSetup setup) {
        if (training == null) {
            throw new IllegalStateException("a network for inference");
        }
        Communicator communicator = setup.communicator();
        limitThreads(communicator.localSize());
        checkInputShape(setup.featureWidth());
        Model model = newModel(device(communicator));
        try {
            return new DjlRankTraining(this, training, setup, model);
        } catch (RuntimeException | Error e) {
            model.close(); // and the memory of its trainer
            throw e;
        }
    }

    @Override
    public NetworkPredictor load(Path folder) throws Exception {
        limitThreads(1);
        Model model = newModel(null);
        try {
            model.load(folder, NAME);
        } catch (Exception | Error e) {
            model.close();
            throw e;
        }
        return new DjlPredictor(this, model);
    }

    /// An empty network.
    ///
    /// @param device null for DJL's choice
    private Model newModel(@Nullable Device device) {
        Block created = block.create(); // first: no model is left open if this fails
        Model model = Model.newInstance(NAME, device, engine);
        model.setBlock(created);
        return model;
    }

    /// The features of some rows, as the input of the network.
    NDArray input(NDManager manager, float[] features, int rows) {
        if (features.length % rows != 0) {
            throw new IllegalArgumentException(
                    "%d features for %d rows".formatted(features.length, rows));
        }
        return manager.create(features, inputShape(rows, features.length / rows));
    }

    Shape inputShape(int rows, int width) {
        if (inputShape.length == 0) {
            return new Shape(rows, width);
        }
        return new Shape(rows)
                .addAll(new Shape(Arrays.stream(inputShape).asLongStream().toArray()));
    }

    private void checkInputShape(int width) {
        long elements = Arrays.stream(inputShape).asLongStream().reduce(1, (a, b) -> a * b);
        if (inputShape.length > 0 && elements != width) {
            throw new ConfigurationException(
                    "the input shape %s has %d elements, and a row has %d features"
                            .formatted(Arrays.toString(inputShape), elements, width));
        }
    }

    private Device device(Communicator communicator) {
        return HvdDjl.device(
                engine == null ? Engine.getInstance() : Engine.getEngine(engine), communicator);
    }

    /// A task of Spark computes with its own processors. PyTorch would use all those of the machine.
    ///
    /// @param sharing how many of such processes share the machine, outside of a task
    private static void limitThreads(int sharing) {
        if (System.getenv("OMP_NUM_THREADS") == null && System.getProperty(THREADS) == null) {
            TaskContext task = TaskContext.get();
            int threads =
                    task == null
                            ? Math.max(1, Runtime.getRuntime().availableProcessors() / sharing)
                            : task.cpus();
            System.setProperty(THREADS, Integer.toString(threads));
        }
    }
}
