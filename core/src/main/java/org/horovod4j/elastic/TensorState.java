package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.Tensor;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/// Tensors and arrays that the program changes in place, such as parameters and an optimiser's momentum.
///
/// There are two copies, written in turn: until a commit is complete, the one before it stays. So a commit
/// takes the time to copy the tensors once, by several threads where they are large, and twice their memory.
///
/// With [#inBackground] a commit only starts to copy, while the program goes on to read the tensors, say
/// through a forward and a backward pass. Before it changes them, it calls [#awaitCommit].
public final class TensorState extends State {
    private final SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
    private @Nullable Snapshot committed;
    private @Nullable Snapshot spare;
    private CompletableFuture<Void> copying = CompletableFuture.completedFuture(null);
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
        if (committed != null) {
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
        awaitCommit();
        List<MemorySegment> sources = segments();
        Snapshot target = spare != null ? spare : Snapshot.of(sources);
        if (inBackground) {
            copying =
                    CompletableFuture.runAsync(
                            () -> target.takeAside(sources),
                            task -> Thread.ofPlatform().daemon().name("hvd-commit").start(task));
        } else {
            target.take(sources);
        }
        // Whoever wants the copy waits for it first, so it may be named now.
        spare = committed;
        committed = target;
    }

    /// Waits until the tensors may be changed.
    ///
    /// @throws IllegalStateException when the copy failed: a tensor's memory is gone, say
    @Override
    public void awaitCommit() {
        try {
            copying.join();
        } catch (CompletionException e) {
            copying = CompletableFuture.completedFuture(null);
            Snapshot torn = committed;
            committed = spare;
            spare = torn;
            throw new IllegalStateException(
                    "committing tensors %s in the background failed: %s"
                            .formatted(tensors.keySet(), e.getCause()),
                    e);
        }
    }

    @Override
    public void restore() {
        awaitCommit();
        Snapshot last = committed;
        if (last != null) {
            last.giveBack(segments());
        }
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
