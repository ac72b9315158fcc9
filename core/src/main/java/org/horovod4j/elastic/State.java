package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.elastic.Generations.Generation;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// What training must not lose: parameters, counters, the position in the data.
///
/// A *commit* is a copy in the memory of this process. When a worker is lost, the others return to
/// their last commit and send it to new workers. More commits mean fewer steps to repeat.
///
/// Most programs use [ObjectState]. A subclass keeps something else: it copies it, restores the copy
/// and sends it to other ranks. A state is used by one thread.
public abstract class State {
    private final List<Runnable> onReset = new ArrayList<>();
    private @Nullable Generation generation;

    protected State() {}

    /// Makes the present values the last commit.
    protected abstract void save();

    /// Returns to the last commit.
    public abstract void restore();

    /// Sends the values of `rootRank` to all other ranks, which use them from then on. Every rank of
    /// the communicator calls this.
    ///
    /// @param rootRank a rank of the communicator
    public abstract void sync(Communicator communicator, int rootRank);

    /// The states that this state consists of. They enter each generation with it, and their
    /// callbacks of [#onReset] run before its own. This state calls their other methods.
    protected Collection<? extends State> parts() {
        return List.of();
    }

    /// Called when a generation begins, before the state is sent, after the same call of its parts.
    protected void generationStarted(Communicator communicator) {}

    /// Commits, then checks for changes of hosts. All ranks call this at the same step.
    ///
    /// @throws HostsUpdatedInterrupt see [#checkHostUpdates]
    public final void commit() {
        save();
        checkHostUpdates();
    }

    /// Ends the generation, on all ranks at this step, if one of them knows that hosts were added or
    /// will be removed. Costs a small allreduce in an elastic job, and nothing in other jobs. Call it
    /// more often than [#commit] if commits are rare: it loses no work.
    ///
    /// @throws HostsUpdatedInterrupt which [Elastic#run] catches
    public final void checkHostUpdates() {
        Generation current = generation;
        if (current == null || !current.membership().isElastic()) {
            return;
        }
        // Ranks learn of a change at different moments, some perhaps never: they share the newest.
        GenerationMembership membership = current.membership();
        long[] newest = {membership.latestHostsVersion()};
        current.communicator()
                .allreduce("elastic: newest change of hosts", Tensor.of(newest), ReduceOp.MAX);
        if (newest[0] > membership.hostsVersion()) {
            throw new HostsUpdatedInterrupt(membership.generation(), newest[0]);
        }
    }

    /// The exception of a collective behind an exception of a framework that carries only its message:
    /// for frameworks that cannot set a cause. Empty by default.
    protected Optional<HorovodException> findFailure(Throwable exception) {
        return Optional.empty();
    }

    /// The same, by this state or one of its parts.
    final Optional<HorovodException> failureBehind(Throwable exception) {
        return Stream.concat(
                        findFailure(exception).stream(),
                        parts().stream().flatMap(part -> part.failureBehind(exception).stream()))
                .findFirst();
    }

    /// Waits until a commit in the background no longer reads what the program may change. Without
    /// such a commit it returns at once.
    public void awaitCommit() {}

    /// Calls `callback` at the start of each generation except the first of this worker, when rank
    /// and size are known and the state has not been sent. Use it to adapt the learning rate to the
    /// number of ranks and to get process sets again. It must not call a collective: new workers do
    /// not call it.
    public final void onReset(Runnable callback) {
        onReset.add(callback);
    }

    final void enter(Generation next) {
        generation = next;
        parts().forEach(part -> part.enter(next));
        generationStarted(next.communicator());
    }

    final void reset() {
        parts().forEach(State::reset);
        onReset.forEach(Runnable::run);
    }
}
