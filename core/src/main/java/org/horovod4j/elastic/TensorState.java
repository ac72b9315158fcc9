package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// Tensors and arrays that the program changes in place, such as parameters and an optimiser's momentum.
///
/// There are two copies, written in turn (see [CommitBuffers]). So a commit takes the time to copy the tensors once,
/// by several threads where they are large, and twice their memory.
///
/// With [#inBackground] a commit only starts to copy, while the program goes on to read the tensors, say
/// through a forward and a backward pass. Before it changes them, it calls [#awaitCommit].
public final class TensorState extends State {
    private final SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
    private final CommitBuffers<Snapshot> commitBuffers =
            new CommitBuffers<>(() -> "tensors " + tensors.keySet());
    private boolean inBackground;

    /// Keeps nothing yet.
    public TensorState() {}

    /// Adds an array.
    public TensorState with(String name, float[] values) {
        return with(name, Tensor.of(values));
    }

    /// Adds an array.
    public TensorState with(String name, double[] values) {
        return with(name, Tensor.of(values));
    }

    /// Adds a tensor, on every rank in the same order. Its memory must live as long as this state.
    ///
    /// @throws IllegalArgumentException when there is one of this name
    public TensorState with(String name, Tensor tensor) {
        if (!commitBuffers.isEmpty()) {
            throw new IllegalStateException(
                    "tensor '%s' comes too late: there is a commit without it".formatted(name));
        }
        if (tensors.putIfAbsent(name, tensor) != null) {
            throw new IllegalArgumentException("there is a tensor '%s' already".formatted(name));
        }
        return this;
    }

    /// Lets commits go on while the program does; see above.
    public TensorState inBackground() {
        inBackground = true;
        return this;
    }

    @Override
    protected void save() {
        List<MemorySegment> sources = segments();
        Snapshot next = commitBuffers.spare().orElseGet(() -> Snapshot.of(sources));
        if (inBackground) {
            commitBuffers.commit(
                    next, () -> next.copyFromSingleThreaded(sources), CommitBuffers.BACKGROUND);
        } else {
            commitBuffers.commit(next, () -> next.copyFrom(sources));
        }
    }

    /// Waits until the tensors may be changed.
    ///
    /// @throws IllegalStateException when the copy failed: a tensor's memory is gone, say
    @Override
    public void awaitCommit() {
        commitBuffers.await();
    }

    @Override
    public void restore() {
        commitBuffers.last().ifPresent(last -> last.copyTo(segments()));
    }

    /// The tensors travel together, each in the memory it has.
    @Override
    public void sync(Communicator communicator, int rootRank) {
        awaitCommit();
        List<Handle<Tensor>> sent = new ArrayList<>();
        tensors.forEach(
                (name, tensor) ->
                        sent.add(
                                communicator.broadcastAsync(
                                        "elastic: tensor " + name, tensor, rootRank)));
        sent.forEach(Handle::join);
    }

    private List<MemorySegment> segments() {
        return tensors.values().stream().map(Tensor::segment).toList();
    }
}
