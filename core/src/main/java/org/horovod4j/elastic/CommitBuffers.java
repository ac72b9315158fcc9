package org.horovod4j.elastic;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/// The last commit of a state and the one before it, whose memory the next one takes.
///
/// So until a commit is complete the one before it stays, and none needs new memory after the second. What
/// is copied, and into what, is the state's affair; so is which thread may do it. One thread uses this.
///
/// A commit in the background is named as the last one at once: whoever wants it waits for it first. If
/// it fails, the next who waits is told so, and the commit before it is the last again.
///
/// @param <C> what a commit keeps
public final class CommitBuffers<C> {
    /// A thread for each commit: one in every step is rare, and none waits for a thread that has died.
    public static final Executor BACKGROUND =
            copy -> Thread.ofPlatform().daemon().name("hvd-commit").start(copy);

    private final Supplier<String> what;
    private @Nullable C last;
    private @Nullable C spare;
    private CompletableFuture<Void> copying = CompletableFuture.completedFuture(null);

    /// No commit yet.
    ///
    /// @param what is committed, for the error that tells that it was not
    public CommitBuffers(Supplier<String> what) {
        this.what = what;
    }

    /// Whether there is a commit, complete or not.
    public boolean isEmpty() {
        return last == null;
    }

    /// The last commit, once it is complete.
    public Optional<C> last() {
        await();
        return Optional.ofNullable(last);
    }

    /// What the next commit may overwrite, once nobody writes there any more.
    public Optional<C> spare() {
        await();
        return Optional.ofNullable(spare);
    }

    /// Commits now.
    ///
    /// @param next mostly the [#spare], with nothing of the past left in it after `copy`
    /// @param copy if it throws, `next` is no commit
    public void commit(C next, Runnable copy) {
        await();
        copy.run();
        swap(next);
    }

    /// Commits while the program goes on.
    ///
    /// @param copy only reads what the program leaves alone until [#await] returns
    /// @param aside who copies, mostly [#BACKGROUND]
    public void commit(C next, Runnable copy, Executor aside) {
        await();
        copying = CompletableFuture.runAsync(copy, aside);
        swap(next);
    }

    private void swap(C next) {
        spare = last;
        last = next;
    }

    /// Waits until nothing is copied any more.
    ///
    /// @throws IllegalStateException when the copy failed: some memory is gone, say
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
