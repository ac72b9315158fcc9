package org.horovod4j.elastic;

import org.horovod4j.DismissedException;
import org.horovod4j.Hvd;
import org.horovod4j.PeerLostException;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.jspecify.annotations.Nullable;

/// Runs training that goes on when workers come and go.
///
/// ```java
/// Hvd.init();
/// float[] weights = initialWeights();
/// ElasticSampler sampler = new ElasticSampler(samples, Sampling.shuffled(42));
/// ObjectState state = new ObjectState().with("weights", weights).with("sampler", sampler);
/// Elastic.run(state, s -> {
///     while (sampler.epoch() < epochs) {
///         while (sampler.hasNext(32)) {
///             trainOn(weights, sampler.nextBatch(32));
///             s.commit();
///         }
///         sampler.nextEpoch();
///     }
/// });
/// ```
///
/// The body is called once in each generation and goes on from where the state says. It calls no
/// collective on its own account before: workers that come later could not take part in it.
///
/// | what happens                        | the state                          | then                     |
/// |-------------------------------------|------------------------------------|--------------------------|
/// | a worker is lost                    | goes back to the last commit       | the next generation      |
/// | hosts come or go                    | stays as it is                     | the next generation      |
/// | the body throws something else      | is of no interest any more         | this worker ends         |
/// | the body returns, on all ranks      | is what training has led to        | `run` returns            |
///
/// At the start of a generation one rank sends its state to all others, rank 0 usually. In a job
/// that is not elastic, or without a launcher, there is one generation.
public final class Elastic {
    private Elastic() {}

    /// What is done in each generation.
    ///
    /// @param <S> the state
    /// @param <X> what it may throw, which then ends this worker
    @FunctionalInterface
    public interface Body<S extends State, X extends Exception> {
        void train(S state) throws X;
    }

    /// Calls `body` in one generation after the other, until it returns on all ranks.
    ///
    /// @return whether this worker took part until the end of training. False when the job
    ///     dismissed it, because it has no place for it any more: then this process is not in the
    ///     job, `Hvd.rank()` and the like throw, and the program is to end.
    /// @throws X what the body throws
    /// @throws PeerLostException when a rank is lost in a job that is not elastic, or the launcher
    ///     is lost
    public static <S extends State, X extends Exception> boolean run(S state, Body<S, X> body)
            throws X {
        try {
            new ElasticLoop<>(new HvdGenerations(), state, body).run();
            return true;
        } catch (DismissedException _) { // Hvd has logged it
            return false;
        }
    }

    /// The worlds of [Hvd].
    private static final class HvdGenerations implements Generations {
        private @Nullable GenerationMembership last;

        @Override
        public Generation enter() {
            // The program may be in one that has failed since, and that init leaves.
            GenerationMembership before = Hvd.isInitialized() ? membership() : last;
            Hvd.init();
            GenerationMembership now = membership();
            last = now;
            return new Generation(
                    Hvd.communicator(),
                    now,
                    before != null && before.generation() != now.generation());
        }

        /// Every rank's membership is of the internal type.
        private static GenerationMembership membership() {
            return (GenerationMembership) Hvd.membership();
        }

        @Override
        public void leave() {
            Hvd.shutdown();
        }

        @Override
        public void abandon(String reason) {
            Hvd.abandon(reason);
        }
    }
}
