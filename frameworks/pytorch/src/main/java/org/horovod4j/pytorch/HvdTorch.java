package org.horovod4j.pytorch;

import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.util.function.Consumer;

/// Horovod4J for a program that uses PyTorch by `org.bytedeco:pytorch`: one-line methods over [Hvd].
///
/// ```java
/// HvdTorch.init();
/// Net net = new Net();
/// HvdTorch.broadcastParameters(net, 0);
/// DistributedOptimizer optimizer = HvdTorch.distributed(new Adam(net.parameters()), net);
/// // for each batch of this rank:
/// optimizer.zeroGrad();
/// loss.backward();
/// optimizer.step();
/// ```
///
/// Code that has a [org.horovod4j.Communicator] uses [DistributedOptimizer], [TorchParameters],
/// [TorchOptimizerState] and [TensorCollectives] directly.
public final class HvdTorch {
    private HvdTorch() {}

    /// Loads libtorch, then calls [Hvd#init]. Call it before anything of PyTorch: without it, ranks that
    /// start together for the first time on a host crash while JavaCPP unpacks native libraries.
    ///
    /// @throws org.horovod4j.ConfigurationException when JavaCPP is on the class path more than once or
    ///     too old, or native libraries are missing
    /// @throws IllegalStateException when DJL has loaded its libtorch into this process
    public static void init() {
        load();
        Hvd.init();
    }

    /// Loads libtorch without a crash of ranks that start together; see [#init]. For elastic jobs, where
    /// `Elastic.run` calls [Hvd#init].
    public static void load() {
        TorchLibrary.runtime();
    }

    /// An optimizer that averages gradients over all ranks before `optimizer` applies them.
    public static DistributedOptimizer distributed(Optimizer optimizer, Module module) {
        return distributed(optimizer, module, _ -> {});
    }

    /// The same with options, such as compression, accumulation or groups:
    ///
    /// ```java
    /// HvdTorch.distributed(adam, net, options -> options.backwardPassesPerStep(4));
    /// ```
    public static DistributedOptimizer distributed(
            Optimizer optimizer, Module module, Consumer<DistributedOptimizer.Builder> options) {
        return built(DistributedOptimizer.wrap(optimizer, module), options);
    }

    /// The same for a module that was loaded from TorchScript.
    public static DistributedOptimizer distributed(Optimizer optimizer, JitModule module) {
        return distributed(optimizer, module, _ -> {});
    }

    /// The same for a module that was loaded from TorchScript, with options.
    public static DistributedOptimizer distributed(
            Optimizer optimizer, JitModule module, Consumer<DistributedOptimizer.Builder> options) {
        return built(DistributedOptimizer.wrap(optimizer, module), options);
    }

    private static DistributedOptimizer built(
            DistributedOptimizer.Builder builder, Consumer<DistributedOptimizer.Builder> options) {
        options.accept(builder);
        return builder.build();
    }

    /// Overwrites parameters and buffers with those of `rootRank`. See [TorchParameters#broadcast].
    public static void broadcastParameters(Module module, int rootRank) {
        TorchParameters.broadcast(
                Hvd.communicator(), TorchParameters.withBuffers(module), rootRank);
    }

    /// The same for a module that was loaded from TorchScript.
    public static void broadcastParameters(JitModule module, int rootRank) {
        TorchParameters.broadcast(
                Hvd.communicator(), TorchParameters.withBuffers(module), rootRank);
    }

    /// Overwrites state and settings of the optimizer with those of `rootRank`. See
    /// [TorchOptimizerState#broadcast].
    public static void broadcastOptimizerState(Optimizer optimizer, int rootRank) {
        TorchOptimizerState.broadcast(Hvd.communicator(), optimizer, rootRank);
    }

    /// Reduces `tensor` over all ranks into a new tensor. See [TensorCollectives] for all collectives on
    /// tensors.
    public static Tensor allreduce(String name, Tensor tensor, ReduceOp op) {
        return collectives().allreduce(name, tensor, op);
    }

    /// Joins the ranks' tensors along the first dimension. First dimensions may differ.
    public static Tensor allgather(String name, Tensor tensor) {
        return collectives().allgather(name, tensor);
    }

    /// The tensor of `rootRank`. All ranks pass a tensor of the same type and shape.
    public static Tensor broadcast(String name, Tensor tensor, int rootRank) {
        return collectives().broadcast(name, tensor, rootRank);
    }

    private static TensorCollectives collectives() {
        return new TensorCollectives(Hvd.communicator());
    }
}
