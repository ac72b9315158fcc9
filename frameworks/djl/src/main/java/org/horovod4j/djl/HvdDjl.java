package org.horovod4j.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;

import java.util.function.Consumer;

/// Horovod4J for a DJL program: one-line methods over [Hvd].
///
/// ```java
/// Hvd.init();
/// Model model = Model.newInstance("mnist", HvdDjl.device());
/// model.setBlock(network);
/// Optimizer optimizer = HvdDjl.distributed(Optimizer.adam().build(), model);
/// // … a trainer with optimizer and HvdDjl.device(), data with HvdDjl.sampler(32) …
/// trainer.initialize(new Shape(1, 784));
/// HvdDjl.broadcastParameters(model, 0);
/// EasyTrain.fit(trainer, epochs, train, test);
/// ```
///
/// Code that has a [Communicator] uses [DistributedOptimizer], [Parameters], [OptimizerState] and
/// [ShardedSampler] directly.
public final class HvdDjl {
    private HvdDjl() {}

    /// The device of this rank: the GPU whose number is the local rank, or the CPU if the engine has
    /// no GPU.
    ///
    /// @throws ConfigurationException when this host has more ranks than GPUs
    public static Device device() {
        Engine engine = Engine.getInstance();
        return device(engine.getEngineName(), engine.getGpuCount(), Hvd.communicator());
    }

    static Device device(String engineName, int gpus, Communicator communicator) {
        if (gpus == 0) {
            return Device.cpu();
        }
        if (communicator.localSize() > gpus) {
            throw new ConfigurationException(
                    """
                    this host runs %d ranks, but engine %s sees %d of its GPUs: %s has none.
                    Start at most %d ranks on this host, or let them see more GPUs (CUDA_VISIBLE_DEVICES). If \
                    each rank sees only its own GPU, use Device.gpu(0); to train on the CPU, Device.cpu()."""
                            .formatted(
                                    communicator.localSize(),
                                    engineName,
                                    gpus,
                                    "local rank " + gpus,
                                    gpus));
        }
        return Device.gpu(communicator.localRank());
    }

    /// An optimizer that averages gradients over all ranks before `optimizer` applies them.
    public static DistributedOptimizer distributed(Optimizer optimizer, Model model) {
        return distributed(optimizer, model, _ -> {});
    }

    /// The same with options, such as compression, accumulation or groups:
    ///
    /// ```java
    /// HvdDjl.distributed(adam, model, options -> options.backwardPassesPerStep(4));
    /// ```
    public static DistributedOptimizer distributed(
            Optimizer optimizer, Model model, Consumer<DistributedOptimizer.Builder> options) {
        DistributedOptimizer.Builder builder =
                DistributedOptimizer.wrap(optimizer, model.getBlock());
        options.accept(builder);
        return builder.build();
    }

    /// Overwrites the model's parameters with those of `rootRank`: once, after
    /// `trainer.initialize`. See [Parameters#broadcast].
    public static void broadcastParameters(Model model, int rootRank) {
        Parameters.broadcast(Hvd.communicator(), model.getBlock(), rootRank);
    }

    /// Overwrites state and settings of the optimizer with those of `rootRank`. See
    /// [OptimizerState#broadcast].
    public static void broadcastOptimizerState(Optimizer optimizer, Model model, int rootRank) {
        OptimizerState.of(optimizer, model.getBlock()).broadcast(Hvd.communicator(), rootRank);
    }

    /// This rank's part of a data set, shuffled in each epoch. [ShardedSampler#batches] has more
    /// options.
    ///
    /// @param batchSize the samples of one batch on one rank
    public static ShardedSampler sampler(int batchSize) {
        return ShardedSampler.batches(batchSize).build();
    }
}
