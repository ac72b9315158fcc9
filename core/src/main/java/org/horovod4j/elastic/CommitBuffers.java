package org.horovod4j.elastic;

import org.horovod4j.Tensor;
import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/// The last commit of a state, and the commit before it, whose memory the next commit reuses.
///
/// The previous commit stays valid until the next one is complete, and no commit after the second
/// needs new memory. The state decides what is copied, where to and on which thread. This class is
/// used by one thread.
///
/// A commit in the background becomes the last commit at once; [#last] waits for it. If it fails, the
/// next wait throws, and the commit before it is the last again.
///
/// @param <C> the content of a commit
public final class CommitBuffers<C> {
    /// Starts one daemon thread for each commit.
    public static final Executor BACKGROUND =
            copy -> Thread.ofPlatform().daemon().name("hvd-commit").start(copy);

    private final Supplier<String> what;
    private @Nullable C last;
    private @Nullable C spare;
    private CompletableFuture<Void> copying = CompletableFuture.completedFuture(null);

    /// Has no commit yet.
    ///
    /// @param what is committed, for error messages
    public CommitBuffers(Supplier<String> what) {
        this.what = what;
    }

    /// Copies of tensors: the content of a first commit.
    public static Map<String, Tensor> copies(Map<String, Tensor> tensors) {
        Map<String, Tensor> copies = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> copies.put(name, tensor.copy()));
        return copies;
    }

    /// Copies the bytes of tensors into others with the same names and sizes, to commit or to restore them.
    public static void copy(Map<String, Tensor> from, Map<String, Tensor> to) {
        from.forEach(
                (name, tensor) ->
                        Objects.requireNonNull(to.get(name), name)
                                .segment()
                                .copyFrom(tensor.segment()));
    }

    /// Whether there is a commit, complete or not.
    public boolean isEmpty() {
        return last == null;
    }

    /// The last commit. Waits until it is complete.
    public Optional<C> last() {
        await();
        return Optional.ofNullable(last);
    }

    /// What the next commit may overwrite. Waits until no thread writes there.
    public Optional<C> spare() {
        await();
        return Optional.ofNullable(spare);
    }

    /// Commits now.
    ///
    /// @param next usually [#spare]; `copy` overwrites all of it
    /// @param copy if it throws, the last commit stays
    public void commit(C next, Runnable copy) {
        await();
        copy.run();
        swap(next);
    }

    /// Commits while the program continues.
    ///
    /// @param copy reads only what the program does not change until [#await] returns
    /// @param executor runs `copy`, usually [#BACKGROUND]
    public void commit(C next, Runnable copy, Executor executor) {
        await();
        copying = CompletableFuture.runAsync(copy, executor);
        swap(next);
    }

    private void swap(C next) {
        spare = last;
        last = next;
    }

    /// Waits until no copy runs.
    ///
    /// @throws IllegalStateException when the copy failed, for example because memory was freed
    public void await() {
        try {
            copying.join();
        } catch (CompletionException e) {
            copying = CompletableFuture.completedFuture(null);
            C torn = last;
            last = spare;
            spare = torn;
            throw new IllegalStateException(
                    "committing %s in the background failed: %s"
                            .formatted(what.get(), e.getCause()),
                    e);
        }
    }
}
