package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.PeerLostException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.elastic.Generations.Generation;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.horovod4j.log.Log;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// Runs one generation after the other; see [Elastic#run].
///
/// @param <S> the state
/// @param <X> what the body may throw
final class ElasticLoop<S extends State, X extends Exception> {
    private static final Logger LOG = Log.of(ElasticLoop.class);

    /// How many causes of an exception to search for a loss: frameworks wrap exceptions of
    /// callbacks.
    private static final int MAX_CAUSES = 32;

    private final Generations generations;
    private final S state;
    private final Elastic.Body<S, X> body;

    /// Whether this state was sent to or received from other ranks, so that they trained with it.
    private boolean hasSyncedState;

    ElasticLoop(Generations generations, S state, Elastic.Body<S, X> body) {
        this.generations = generations;
        this.state = state;
        this.body = body;
    }

    void run() throws X {
        // After a sync that fails, restore must not give other ranks a state that is half received.
        state.save();
        Generation generation = enter();
        while (!runGeneration(generation)) {
            generations.leave();
            generation = enter();
        }
    }

    private Generation enter() {
        try {
            Generation generation = generations.enter();
            state.enter(generation);
            if (generation.isReset()) {
                state.reset();
            }
            return generation;
        } catch (RuntimeException | Error e) {
            awaitCommitAfterFailure(e);
            throw e;
        }
    }

    /// Runs one generation.
    ///
    /// @return whether training has ended, and not only this generation
    private boolean runGeneration(Generation generation) throws X {
        try {
            if (generation.membership().sync()) {
                sync(generation);
            }
            generation.membership().stateSynced();
            body.train(state);
            if (generation.membership().isElastic()) {
                // If a rank is lost in the last step, the others must not have left: all ranks end
                // with the same parameters.
                generation.communicator().barrier();
            }
            state.awaitCommit(); // the program may free its memory after this
            return true;
        } catch (Throwable e) { // the other ranks must not wait for this one
            if (!isRecoverable(e, generation.membership())) {
                generations.abort("its program failed: " + e);
                awaitCommitAfterFailure(e);
                throw e;
            }
            recover(e);
            return false;
        }
    }

    /// Keeps the state, or returns to the last commit after a loss.
    private void recover(Throwable end) {
        try {
            if (causeOf(end, HostsUpdatedInterrupt.class) != null) {
                state.awaitCommit();
            } else {
                state.restore();
            }
        } catch (RuntimeException | Error e) {
            generations.abort("it has lost its last commit: " + e);
            e.addSuppressed(end);
            throw e;
        }
    }

    /// Waits for a commit in the background: the program may free the memory that it reads.
    private void awaitCommitAfterFailure(Throwable end) {
        try {
            state.awaitCommit();
        } catch (RuntimeException | Error e) {
            end.addSuppressed(e);
        }
    }

    /// Sends the state of one rank to all: of the lowest rank that has a state from training. Rank
    /// 0 may have none, if the rank that was to send it was lost.
    private void sync(Generation generation) {
        Communicator communicator = generation.communicator();
        int size = communicator.size();
        long[] first = {hasSyncedState ? communicator.rank() : size};
        communicator.allreduce(
                "elastic: lowest rank with the state", Tensor.of(first), ReduceOp.MIN);
        boolean isRestart =
                generation.membership().isElastic() && generation.membership().generation() > 0;
        if (first[0] == size && isRestart) {
            LOG.log(
                    Level.WARNING,
                    "no worker has trained in this job yet: training starts from the beginning");
        }
        int root = first[0] == size ? 0 : Math.toIntExact(first[0]);
        state.sync(communicator, root);
        state.save();
        hasSyncedState = true;
    }

    /// Whether the failure ends the generation only, and not this worker. Logs which.
    private boolean isRecoverable(Throwable failure, GenerationMembership membership) {
        int generation = membership.generation();
        if (causeOf(failure, HostsUpdatedInterrupt.class) != null) {
            LOG.log(
                    Level.INFO,
                    "generation {0} is over: hosts were added or will be removed",
                    generation);
            return true;
        }
        PeerLostException loss = causeOf(failure);
        if (loss == null || !membership.isElastic()) {
            return false;
        }
        LOG.log(
                Level.WARNING,
                "generation %d is over; returning to the last commit: %s"
                        .formatted(generation, loss.getMessage()));
        return true;
    }

    private @Nullable PeerLostException causeOf(Throwable failure) {
        PeerLostException loss = causeOf(failure, PeerLostException.class);
        return loss != null
                ? loss
                : state.failureBehind(failure)
                        .map(behind -> causeOf(behind, PeerLostException.class))
                        .orElse(null);
    }

    private static <T extends Throwable> @Nullable T causeOf(Throwable failure, Class<T> type) {
        Throwable each = failure;
        for (int depth = 0; each != null && depth < MAX_CAUSES; depth++) {
            if (type.isInstance(each)) {
                return type.cast(each);
            }
            each = each.getCause();
        }
        return null;
    }
}
