package org.horovod4j.djl.elastic;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.djl.ArrayForm;
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.elastic.State;
import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/// The parameters of a model, and what its optimizer has learnt.
///
/// ```java
/// trainer.initialize(new Shape(1, 784));
/// ElasticSampler sampler = ElasticSampler.shuffled(images, 42);
/// ObjectState state =
///         new ObjectState()
///                 .with("model", new DjlState(model, optimizer))
///                 .with("sampler", sampler)
///                 .with("step", 0);
/// Elastic.run(state, s -> …);
/// ```
///
/// Settings of the optimizer belong to it, its learning rate included, and are those of rank 0 when a
/// generation begins. A [DistributedOptimizer] goes on with the ranks of each generation by itself.
///
/// There are two copies, written in turn, so that until a commit is complete the one before it stays.
public final class DjlState extends State {
    private final Block block;
    private final Optimizer optimizer;
    private final Predicate<String> shared;
    private @Nullable Commit committed;
    private @Nullable ArrayCopies spare;

    /// What a commit keeps.
    ///
    /// @param optimizerForms the arrays that the optimizer had; others are not what it had learnt
    private record Commit(
            ArrayCopies arrays,
            List<ArrayForm> optimizerForms,
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
    /// @param shared the names of the parameters that all ranks have in common. The others are committed
    ///     and restored, but never sent: a new worker begins with its own.
    public DjlState(Block block, Optimizer optimizer, Predicate<String> shared) {
        this.block = block;
        this.optimizer = optimizer;
        this.shared = shared;
        Map<String, NDArray> _ =
                arrays(optimizerState()); // what is missing is told here, not later
    }

    /// Gradients, and the memory that they share with neighbours, belong to the world that has ended.
    @Override
    protected void begin(Communicator communicator) {
        if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.rebind(communicator);
        }
    }

    @Override
    protected void save() {
        OptimizerState state = optimizerState();
        Map<String, NDArray> arrays = arrays(state);
        ArrayCopies former = spare;
        ArrayCopies copies =
                former != null && former.fit(arrays) ? former : ArrayCopies.like(arrays);
        copies.take(arrays);
        spare = committed == null ? null : committed.arrays;
        committed =
                new Commit(copies, ArrayForm.all(state.arrays()), state.counts(), state.settings());
    }

    @Override
    public void restore() {
        Commit last = committed;
        if (last == null) {
            return;
        }
        OptimizerState state = optimizerState();
        last.settings.forEach(state::set);
        Map<String, NDArray> _ = state.reform(last.counts, last.optimizerForms);
        last.arrays.giveBack(arrays(state));
    }

    /// A worker whose optimizer has made no step yet gets what that of the root rank has learnt.
    @Override
    public void sync(Communicator communicator, int rootRank) {
        Parameters.broadcast(communicator, block, rootRank, shared);
        OptimizerState.of(optimizer, block, shared).broadcast(communicator, rootRank);
    }

    private OptimizerState optimizerState() {
        return OptimizerState.of(optimizer, block);
    }

    /// All of both. An optimizer's have a slash in their names, and parameters have none.
    private Map<String, NDArray> arrays(OptimizerState state) {
        Map<String, NDArray> arrays = new LinkedHashMap<>(Parameters.arrays(block));
        arrays.putAll(state.arrays());
        return arrays;
    }
}
