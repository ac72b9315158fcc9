package org.horovod4j.djl.elastic;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.ArraySpecs;
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.elastic.CommitBuffers;
import org.horovod4j.elastic.State;
import org.horovod4j.training.TensorSpec;
import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Predicate;

/// The parameters of a model and the state of its optimizer, for elastic training.
///
/// ```java
/// trainer.initialize(new Shape(1, 784));
/// ElasticSampler sampler = new ElasticSampler(images, Sampling.shuffled(42));
/// ObjectState state =
///         new ObjectState()
///                 .with("model", new DjlState(model, optimizer))
///                 .with("sampler", sampler)
///                 .with("step", 0);
/// Elastic.run(state, s -> …);
/// ```
///
/// Settings of the optimizer, including its learning rate, are part of the state. When a generation
/// begins, all ranks get those of rank 0. A [DistributedOptimizer] uses the ranks of each generation
/// without further calls.
///
/// There are two copies, written in turn: the previous commit stays valid until the next one is
/// complete. With [#inBackground] a commit copies in another thread.
public final class DjlState extends State {
    private final Block block;
    private final Optimizer optimizer;
    private final Predicate<String> shared;
    private final CommitBuffers<Commit> commitBuffers =
            new CommitBuffers<>(() -> "the parameters of the model and the state of its optimizer");
    private @Nullable Executor copyExecutor;

    /// The content of a commit.
    ///
    /// @param stepArrays arrays that steps change: trainable parameters and the optimizer's arrays
    /// @param forwardArrays arrays that forward passes change, such as running statistics, and frozen
    ///     parameters
    /// @param optimizerSpecs the arrays of the optimizer at the commit
    private record Commit(
            ArraySnapshot stepArrays,
            ArraySnapshot forwardArrays,
            List<TensorSpec> optimizerSpecs,
            OptimizerState.Counts counts,
            Map<String, Double> settings) {}

    /// @param model initialised by `trainer.initialize`, on new workers too
    /// @param optimizer the optimizer of the trainer
    /// @throws IllegalStateException when a parameter is not initialised
    /// @throws org.horovod4j.ConfigurationException when this kind of optimizer is not supported
    public DjlState(Model model, Optimizer optimizer) {
        this(model.getBlock(), optimizer, name -> true);
    }

    /// The same for a block.
    ///
    /// @param shared the names of the parameters that are equal on all ranks. The others are committed
    ///     and restored, but not sent: a new worker starts with its own.
    public DjlState(Block block, Optimizer optimizer, Predicate<String> shared) {
        this.block = block;
        this.optimizer = optimizer;
        this.shared = shared;
        // fail now, not at the first commit
        Map<String, NDArray> _ = Parameters.arrays(block);
        Map<String, NDArray> _ = stepArrays(optimizerState());
    }

    /// Copies in another thread during the next forward and backward pass. The distributed optimizer
    /// waits for the copy before it changes parameters. The few arrays that forward passes change are
    /// copied at once.
    ///
    /// Code that changes or closes parameters in another way, for example by loading them, must call
    /// [#awaitCommit] first.
    ///
    /// @throws ConfigurationException when the optimizer is not a distributed one, which would not wait
    public DjlState inBackground() {
        return inBackground(CommitBuffers.BACKGROUND);
    }

    DjlState inBackground(Executor copier) {
        if (!(optimizer instanceof DistributedOptimizer distributed)) {
            throw new ConfigurationException(
                    """
                    a commit in the background must end before the optimizer changes a parameter, but %s does not wait \
                    for it. Wrap it with HvdDjl.distributed, or do not call inBackground()."""
                            .formatted(optimizer.getClass().getSimpleName()));
        }
        if (copyExecutor == null) {
            copyExecutor = copier;
            distributed.beforeUpdates(this::awaitCommit);
        }
        return this;
    }

    /// The gradients and their shared memory belong to the previous generation, so the optimizer starts
    /// again.
    @Override
    protected void generationStarted(Communicator communicator) {
        if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.rebind(communicator);
        }
    }

    @Override
    protected void save() {
        OptimizerState state = optimizerState();
        Map<String, NDArray> stepArrays = stepArrays(state);
        Map<String, NDArray> forwardArrays = forwardArrays();
        Commit next =
                commitBuffers
                        .spare()
                        .filter(
                                it ->
                                        it.stepArrays.matches(stepArrays)
                                                && it.forwardArrays.matches(forwardArrays))
                        .map(it -> commit(it.stepArrays, it.forwardArrays, state))
                        .orElseGet(
                                () ->
                                        commit(
                                                ArraySnapshot.allocateFor(stepArrays),
                                                ArraySnapshot.allocateFor(forwardArrays),
                                                state));
        next.forwardArrays.copyFrom(forwardArrays);
        if (copyExecutor == null) {
            commitBuffers.commit(next, () -> next.stepArrays.copyFrom(stepArrays));
        } else {
            commitBuffers.commit(next, next.stepArrays.copyTask(stepArrays), copyExecutor);
        }
    }

    private static Commit commit(
            ArraySnapshot stepArrays, ArraySnapshot forwardArrays, OptimizerState state) {
        return new Commit(
                stepArrays,
                forwardArrays,
                ArraySpecs.ofAll(state.arrays()),
                state.counts(),
                state.settings());
    }

    /// Waits until parameters may be changed.
    ///
    /// @throws IllegalStateException when a commit in the background failed
    @Override
    public void awaitCommit() {
        commitBuffers.await();
    }

    @Override
    public void restore() {
        commitBuffers.last().ifPresent(this::restoreFrom);
    }

    private void restoreFrom(Commit last) {
        OptimizerState state = optimizerState();
        last.settings.forEach(state::set);
        Map<String, NDArray> _ = state.reallocate(last.counts, last.optimizerSpecs);
        // all at once: a layer may have been frozen or unfrozen since
        Map<String, NDArray> arrays = parameters(parameter -> true);
        arrays.putAll(state.arrays());
        last.stepArrays.copyTo(arrays);
        last.forwardArrays.copyTo(arrays);
    }

    /// A new worker, whose optimizer has made no step, gets the state of the root rank.
    @Override
    public void sync(Communicator communicator, int rootRank) {
        awaitCommit();
        Parameters.broadcast(communicator, block, rootRank, shared);
        OptimizerState.of(optimizer, block, shared).broadcast(communicator, rootRank);
    }

    private OptimizerState optimizerState() {
        return OptimizerState.of(optimizer, block);
    }

    /// The names of optimizer arrays contain a slash; those of parameters do not.
    private Map<String, NDArray> stepArrays(OptimizerState state) {
        Map<String, NDArray> arrays = parameters(Parameter::requiresGradient);
        arrays.putAll(state.arrays());
        return arrays;
    }

    private Map<String, NDArray> forwardArrays() {
        return parameters(parameter -> !parameter.requiresGradient());
    }

    private Map<String, NDArray> parameters(Predicate<Parameter> which) {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        block.getParameters().stream()
                .filter(named -> which.test(named.getValue()))
                .forEach(named -> arrays.put(named.getKey(), named.getValue().getArray()));
        return arrays;
    }
}
