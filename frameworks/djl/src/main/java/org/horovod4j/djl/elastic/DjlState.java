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

/// The parameters of a model, and what its optimizer has learnt.
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
/// Settings of the optimizer belong to it, its learning rate included, and are those of rank 0 when
/// a generation begins. A [DistributedOptimizer] goes on with the ranks of each generation by
/// itself.
///
/// There are two copies, written in turn, so that until a commit is complete the one before it stays. With
/// [#inBackground] a commit only starts to copy.
public final class DjlState extends State {
    private final Block block;
    private final Optimizer optimizer;
    private final Predicate<String> shared;
    private final CommitBuffers<Commit> commitBuffers =
            new CommitBuffers<>(() -> "the parameters of the model and the state of its optimizer");
    private @Nullable Executor copyExecutor;

    /// What a commit keeps.
    ///
    /// @param stepArrays what steps change: trained parameters, and all that the optimizer has learnt
    /// @param forwardArrays what forward passes change, such as running statistics, and parameters that are frozen
    /// @param optimizerSpecs the arrays that the optimizer had; others are not what it had learnt
    private record Commit(
            ArraySnapshot stepArrays,
            ArraySnapshot forwardArrays,
            List<TensorSpec> optimizerSpecs,
            OptimizerState.Counts counts,
            Map<String, Double> settings) {}

    /// @param model initialised by `trainer.initialize`, on new workers too
    /// @param optimizer the one that the trainer uses
    /// @throws IllegalStateException when a parameter is not initialised
    /// @throws org.horovod4j.ConfigurationException when this kind of optimizer is not understood
    public DjlState(Model model, Optimizer optimizer) {
        this(model.getBlock(), optimizer, name -> true);
    }

    /// The same for a block.
    ///
    /// @param shared the names of the parameters that all ranks have in common. The others are
    ///     committed and restored, but never sent: a new worker begins with its own.
    public DjlState(Block block, Optimizer optimizer, Predicate<String> shared) {
        this.block = block;
        this.optimizer = optimizer;
        this.shared = shared;
        // What is missing is told here, not later.
        Map<String, NDArray> _ = Parameters.arrays(block);
        Map<String, NDArray> _ = stepArrays(optimizerState());
    }

    /// Lets commits go on while the program does: through the next forward and backward pass, until the
    /// distributed optimizer is about to change the parameters, which then waits by itself. What forward
    /// passes change is little and copied at once.
    ///
    /// Whatever else changes or closes parameters, such as a program that loads some, calls [#awaitCommit]
    /// before.
    ///
    /// @throws ConfigurationException when the optimizer is no distributed one, and would not wait
    public DjlState inBackground() {
        return inBackground(CommitBuffers.BACKGROUND);
    }

    DjlState inBackground(Executor copier) {
        if (!(optimizer instanceof DistributedOptimizer distributed)) {
            throw new ConfigurationException(
                    """
                    commits in the background end before the optimizer changes a parameter, but %s would not \
                    wait for them. Wrap it by HvdDjl.distributed, or leave out inBackground()."""
                            .formatted(optimizer.getClass().getSimpleName()));
        }
        if (copyExecutor == null) {
            copyExecutor = copier;
            distributed.beforeUpdates(this::awaitCommit);
        }
        return this;
    }

    /// Gradients, and the memory that they share with neighbours, belong to the world that has
    /// ended.
    @Override
    protected void generationStarted(Communicator communicator) {
        if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.rebind(communicator);
        }
    }

    @Override
    protected void save() {
        OptimizerState state = optimizerState();
        Map<String, NDArray> stepped = stepArrays(state);
        Map<String, NDArray> passed = forwardArrays();
        Commit next =
                commitBuffers
                        .spare()
                        .filter(
                                it ->
                                        it.stepArrays.matches(stepped)
                                                && it.forwardArrays.matches(passed))
                        .map(it -> commit(it.stepArrays, it.forwardArrays, state))
                        .orElseGet(
                                () ->
                                        commit(
                                                ArraySnapshot.allocateFor(stepped),
                                                ArraySnapshot.allocateFor(passed),
                                                state));
        next.forwardArrays.copyFrom(passed);
        if (copyExecutor == null) {
            commitBuffers.commit(next, () -> next.stepArrays.copyFrom(stepped));
        } else {
            commitBuffers.commit(next, next.stepArrays.copyTask(stepped), copyExecutor);
        }
    }

    private static Commit commit(
            ArraySnapshot stepped, ArraySnapshot passed, OptimizerState state) {
        return new Commit(
                stepped,
                passed,
                ArraySpecs.ofAll(state.arrays()),
                state.counts(),
                state.settings());
    }

    /// Waits until the parameters may be changed.
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
        // All at once: a layer may have been frozen or thawed since.
        Map<String, NDArray> arrays = parameters(parameter -> true);
        arrays.putAll(state.arrays());
        last.stepArrays.copyTo(arrays);
        last.forwardArrays.copyTo(arrays);
    }

    /// A worker whose optimizer has made no step yet gets what that of the root rank has learnt.
    @Override
    public void sync(Communicator communicator, int rootRank) {
        awaitCommit();
        Parameters.broadcast(communicator, block, rootRank, shared);
        OptimizerState.of(optimizer, block, shared).broadcast(communicator, rootRank);
    }

    private OptimizerState optimizerState() {
        return OptimizerState.of(optimizer, block);
    }

    /// An optimizer's have a slash in their names, and parameters have none.
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
