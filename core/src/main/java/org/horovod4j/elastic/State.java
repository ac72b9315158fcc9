package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.elastic.Generations.Generation;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/// What training must not lose: parameters, counters, the place in the data.
///
/// A *commit* is a copy in this process's memory. When a worker is lost the others go back to their
/// last one, and send it to whoever takes its place; so what is committed more often is repeated
/// less.
///
/// Most programs use [ObjectState]. A subclass keeps something else: it copies, takes back the
/// copy, and sends what it keeps to other ranks. One thread uses it.
public abstract class State {
    private final List<Runnable> onReset = new ArrayList<>();
    private @Nullable Generation generation;

    protected State() {}

    /// Keeps what there is now as the last commit.
    protected abstract void save();

    /// Goes back to the last commit.
    public abstract void restore();

    /// Sends what `rootRank` has to all other ranks, which take it over. Every rank of the
    /// communicator calls this.
    public abstract void sync(Communicator communicator, int rootRank);

    /// The states that this one is made of. They are in its generation, and their callbacks of
    /// [#onReset] are called before its own; what else they do is up to this one.
    protected Collection<? extends State> parts() {
        return List.of();
    }

    /// Hears of the generation that begins, before anything is synced, and after its parts.
    protected void generationStarted(Communicator communicator) {}

    /// Commits, then checks for hosts that have come or will go. All ranks do at the same step.
    ///
    /// @throws HostsUpdatedInterrupt see [#checkHostUpdates]
    public final void commit() {
        save();
        checkHostUpdates();
    }

    /// Ends the generation, on all ranks at this step, when one of them has heard that hosts have
    /// come or will go. Costs a small allreduce in an elastic job, and nothing in any other. Worth
    /// calling more often than [#commit] where commits are rare, since nothing is lost by it.
    ///
    /// @throws HostsUpdatedInterrupt which [Elastic#run] catches
    public final void checkHostUpdates() {
        Generation current = generation;
        if (current == null || !current.membership().isElastic()) {
            return;
        }
        // Whoever has heard of it tells all: the news reach the ranks at different moments, and
        // may reach some only.
        GenerationMembership membership = current.membership();
        long[] newest = {membership.latestHostsVersion()};
        current.communicator()
                .allreduce("elastic: newest change of hosts", Tensor.of(newest), ReduceOp.MAX);
        if (newest[0] > membership.hostsVersion()) {
            throw new HostsUpdatedInterrupt(membership.generation(), newest[0]);
        }
    }

    /// Waits until a commit that is made in the background reads nothing more that the program may
    /// change. Does nothing for others.
    public void awaitCommit() {}

    /// Calls `callback` at the start of each generation but this worker's first, when rank and size
    /// are known and the state has not been sent yet: the place to adapt the learning rate to the
    /// number of ranks, and to fetch process sets anew. It calls no collective, since new workers
    /// do not call it.
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
