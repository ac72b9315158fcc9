package org.horovod4j.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;

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
/// Code that is handed a [Communicator] uses [DistributedOptimizer], [Parameters], [OptimizerState]
/// and [ShardedSampler] themselves.
public final class HvdDjl {
    private HvdDjl() {}

    /// The device of this rank: the GPU whose number is the local rank, or the CPU if the engine
    /// sees no GPU.
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
                    this host runs %d ranks, but engine %s sees %d of its GPUs: %s would have none.
                    Start at most %d ranks on this host, or let them see more GPUs (CUDA_VISIBLE_DEVICES). If \
                    each rank is shown a GPU of its own, use Device.gpu(0); to train on the CPU, Device.cpu()."""
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
        return optimizer(optimizer, model).build();
    }

    /// The same, with more to say: compression, accumulation, groups.
    public static DistributedOptimizer.Builder optimizer(Optimizer optimizer, Model model) {
        return DistributedOptimizer.wrap(optimizer, model.getBlock());
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

    /// This rank's share of a data set, shuffled anew in each epoch. [ShardedSampler#batches] has
    /// more to choose.
    ///
    /// @param batchSize samples of a batch on each rank
    public static ShardedSampler sampler(int batchSize) {
        return ShardedSampler.batches(batchSize).build();
    }
}
