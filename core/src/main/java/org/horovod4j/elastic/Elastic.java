package org.horovod4j.elastic;

import org.horovod4j.DismissedException;
import org.horovod4j.Hvd;
import org.horovod4j.PeerLostException;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.jspecify.annotations.Nullable;

/// Runs training that continues when workers join and leave.
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
/// `run` calls the body once in each generation, and the body continues from the state. The program
/// calls no collective before `run`: workers that join later could not take part in it.
///
/// | what happens                        | the state                          | then                     |
/// |-------------------------------------|------------------------------------|--------------------------|
/// | a worker is lost                    | returns to the last commit         | the next generation      |
/// | hosts are added or removed          | stays as it is                     | the next generation      |
/// | the body throws something else      | is not used any more               | this worker ends         |
/// | the body returns, on all ranks      | is the result of training          | `run` returns true       |
/// | the job dismisses this worker       | is not used any more               | `run` returns false      |
///
/// At the start of a generation one rank, usually rank 0, sends its state to all others. A job that
/// is not elastic, or has no launcher, has one generation.
public final class Elastic {
    private Elastic() {}

    /// The training of one generation.
    ///
    /// @param <S> the state
    /// @param <X> what it may throw, which ends this worker
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

    /// The generations that this process joins through [Hvd].
    private static final class HvdGenerations implements Generations {
        private @Nullable GenerationMembership last;

        @Override
        public Generation enter() {
            // The program may be in a generation that has failed; init leaves it.
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
        public void abort(String reason) {
            Hvd.abort(reason);
        }
    }
}
