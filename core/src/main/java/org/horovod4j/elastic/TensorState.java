package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// Tensors and arrays that the program changes in place, such as parameters and an optimiser's
/// momentum.
///
/// It has two copies, written in turn (see [CommitBuffers]). A commit copies the tensors once, with
/// several threads if they are large. The copies take twice the memory of the tensors.
///
/// With [#inBackground] a commit only starts the copy. The program may read the tensors meanwhile,
/// as in a forward and a backward pass. Before it changes them, it calls [#awaitCommit].
public final class TensorState extends State {
    private final SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
    private final CommitBuffers<Snapshot> commitBuffers =
            new CommitBuffers<>(() -> "tensors " + tensors.keySet());
    private boolean inBackground;

    /// Has no tensors yet.
    public TensorState() {}

    /// Adds an array.
    public TensorState with(String name, float[] values) {
        return with(name, Tensor.of(values));
    }

    /// Adds an array.
    public TensorState with(String name, double[] values) {
        return with(name, Tensor.of(values));
    }

    /// Adds a tensor, on every rank in the same order. Its memory must stay valid as long as this
    /// state is used.
    ///
    /// @throws IllegalArgumentException when the state has a tensor of this name
    public TensorState with(String name, Tensor tensor) {
        if (!commitBuffers.isEmpty()) {
            throw new IllegalStateException(
                    "tensor '%s' is added after the first commit: add all tensors before it"
                            .formatted(name));
        }
        if (tensors.putIfAbsent(name, tensor) != null) {
            throw new IllegalArgumentException("there is a tensor '%s' already".formatted(name));
        }
        return this;
    }

    /// Makes commits copy in the background; see above.
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
    /// @throws IllegalStateException when the copy failed, for example because memory was freed
    @Override
    public void awaitCommit() {
        commitBuffers.await();
    }

    @Override
    public void restore() {
        commitBuffers.last().ifPresent(last -> last.copyTo(segments()));
    }

    /// Broadcasts all tensors at once, each in place.
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
