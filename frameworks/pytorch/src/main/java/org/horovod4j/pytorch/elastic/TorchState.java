package org.horovod4j.pytorch.elastic;

import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.horovod4j.Communicator;
import org.horovod4j.elastic.CommitBuffers;
import org.horovod4j.elastic.Snapshot;
import org.horovod4j.elastic.State;
import org.horovod4j.pytorch.DistributedOptimizer;
import org.horovod4j.pytorch.TensorMemory;
import org.horovod4j.pytorch.TorchOptimizerState;
import org.horovod4j.pytorch.TorchParameters;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// The parameters and buffers of a module and the state of its optimizer, for elastic training.
///
/// ```java
/// HvdTorch.load(); // before anything of PyTorch
/// ElasticSampler sampler = new ElasticSampler(images, Sampling.shuffled(42));
/// ObjectState state =
///         new ObjectState()
///                 .with("net", new TorchState(net, optimizer))
///                 .with("sampler", sampler)
///                 .with("step", 0);
/// Elastic.run(state, s -> …);
/// ```
///
/// Settings of the optimizer, including its learning rate, are part of the state. The distributed
/// optimizer uses the ranks of each generation without further calls.
///
/// There are two copies, written in turn: the previous commit stays valid until the next one is complete.
public final class TorchState extends State {
    private final Map<String, Tensor> tensors;
    private final DistributedOptimizer optimizer;
    private final CommitBuffers<Commit> commitBuffers =
            new CommitBuffers<>(() -> "the parameters of a module and the state of its optimizer");

    /// @param optimizerState as [TorchOptimizerState] writes it
    @SuppressWarnings("ArrayRecordComponent") // commits are not compared
    private record Commit(Snapshot values, byte[] optimizerState) {}

    /// @param optimizer of the module's parameters
    public TorchState(Module module, DistributedOptimizer optimizer) {
        this(TorchParameters.withBuffers(module), optimizer);
    }

    /// The same for a module that was loaded from TorchScript.
    public TorchState(JitModule module, DistributedOptimizer optimizer) {
        this(TorchParameters.withBuffers(module), optimizer);
    }

    private TorchState(Map<String, Tensor> tensors, DistributedOptimizer optimizer) {
        this.tensors = tensors;
        this.optimizer = optimizer;
    }

    /// The gradients and their shared memory belong to the previous generation, so the optimizer starts
    /// again.
    @Override
    protected void generationStarted(Communicator communicator) {
        optimizer.rebind(communicator);
    }

    @Override
    protected void save() {
        List<MemorySegment> values = segments(views());
        Snapshot snapshot =
                commitBuffers.spare().map(Commit::values).orElseGet(() -> Snapshot.of(values));
        commitBuffers.commit(
                new Commit(snapshot, TorchOptimizerState.save(optimizer.wrapped())),
                () -> snapshot.copyFrom(values));
    }

    @Override
    public void restore() {
        commitBuffers.last().ifPresent(this::restoreFrom);
    }

    private void restoreFrom(Commit last) {
        List<org.horovod4j.Tensor> views = views();
        last.values.copyTo(segments(views));
        int i = 0;
        for (Tensor tensor : tensors.values()) {
            TensorMemory.write(tensor, views.get(i++)); // does nothing for a view in place
        }
        TorchOptimizerState.load(optimizer.wrapped(), last.optimizerState);
    }

    /// A new worker, whose optimizer has made no step, gets the state of the root rank.
    @Override
    public void sync(Communicator communicator, int rootRank) {
        TorchParameters.broadcast(communicator, tensors, rootRank);
        TorchOptimizerState.broadcast(communicator, optimizer.wrapped(), rootRank);
    }

    private List<org.horovod4j.Tensor> views() {
        List<org.horovod4j.Tensor> views = new ArrayList<>();
        tensors.values().forEach(tensor -> views.add(TensorMemory.view(tensor)));
        return views;
    }

    private static List<MemorySegment> segments(List<org.horovod4j.Tensor> views) {
        return views.stream().map(org.horovod4j.Tensor::segment).toList();
    }
}
