package org.horovod4j.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.training.GpuChoice;

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
/// Code that has a [Communicator] uses [DistributedOptimizer], [Parameters], [OptimizerState],
/// [ArrayCollectives] and [ShardedSampler] directly.
public final class HvdDjl {
    private HvdDjl() {}

    /// The device of this rank: the GPU whose number is the local rank, or the CPU if the engine has
    /// no GPU. If the launcher shows each rank its own GPUs (`--gpus-per-rank`), the first of them. With
    /// `HOROVOD_SHARE_GPUS=1`, ranks share GPUs if there are fewer.
    ///
    /// @throws ConfigurationException when this host has more ranks than GPUs otherwise
    public static Device device() {
        return device(Engine.getInstance(), Hvd.communicator());
    }

    /// The device of this rank of `communicator`, as [#device()] chooses it.
    public static Device device(Engine engine, Communicator communicator) {
        return device(engine.getEngineName(), engine.getGpuCount(), communicator);
    }

    static Device device(String engineName, int gpus, Communicator communicator) {
        if (gpus == 0) {
            return Device.cpu();
        }
        return Device.gpu(GpuChoice.of(communicator, gpus, "engine " + engineName));
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

    /// Reduces `array` over all ranks into a new array. See [ArrayCollectives] for all collectives on
    /// arrays, and [DifferentiableCollectives] for those that are part of a loss.
    public static NDArray allreduce(String name, NDArray array, ReduceOp op) {
        return collectives().allreduce(name, array, op);
    }

    public static Handle<NDArray> allreduceAsync(String name, NDArray array, ReduceOp op) {
        return collectives().allreduceAsync(name, array, op);
    }

    /// Reduces each array over all ranks, as one group.
    public static NDList groupedAllreduce(String name, NDList arrays, ReduceOp op) {
        return collectives().groupedAllreduce(name, arrays, op);
    }

    public static Handle<NDList> groupedAllreduceAsync(String name, NDList arrays, ReduceOp op) {
        return collectives().groupedAllreduceAsync(name, arrays, op);
    }

    /// Joins the ranks' arrays along the first dimension. First dimensions may differ.
    public static NDArray allgather(String name, NDArray array) {
        return collectives().allgather(name, array);
    }

    public static Handle<NDArray> allgatherAsync(String name, NDArray array) {
        return collectives().allgatherAsync(name, array);
    }

    /// The array of `rootRank`. All ranks pass an array of the same type and shape.
    public static NDArray broadcast(String name, NDArray array, int rootRank) {
        return collectives().broadcast(name, array, rootRank);
    }

    public static Handle<NDArray> broadcastAsync(String name, NDArray array, int rootRank) {
        return collectives().broadcastAsync(name, array, rootRank);
    }

    /// Sends rows of `array` to each rank; the options say how many each rank gets.
    public static AlltoallArray alltoall(String name, NDArray array, AlltoallOptions options) {
        return collectives().alltoall(name, array, options);
    }

    public static Handle<AlltoallArray> alltoallAsync(
            String name, NDArray array, AlltoallOptions options) {
        return collectives().alltoallAsync(name, array, options);
    }

    /// Reduces `array` over all ranks and returns to each its part of the rows.
    public static NDArray reducescatter(String name, NDArray array, ReduceOp op) {
        return collectives().reducescatter(name, array, op);
    }

    public static Handle<NDArray> reducescatterAsync(String name, NDArray array, ReduceOp op) {
        return collectives().reducescatterAsync(name, array, op);
    }

    private static ArrayCollectives collectives() {
        return new ArrayCollectives(Hvd.communicator());
    }

    /// This rank's part of a data set, shuffled in each epoch. [ShardedSampler#batches] has more
    /// options.
    ///
    /// @param batchSize the samples of one batch on one rank
    public static ShardedSampler sampler(int batchSize) {
        return ShardedSampler.batches(batchSize).build();
    }
}
