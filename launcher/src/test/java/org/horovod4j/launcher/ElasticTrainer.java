package org.horovod4j.launcher;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ElasticSampler;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.elastic.State;

import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntPredicate;

/// An elastic worker that trains a [SpiralNetwork]. The result does not depend on the number of
/// workers or on lost workers.
///
/// The batch of a step always has the same samples, which the ranks divide among themselves. So the
/// number of steps per epoch and the loss are those of a training without faults. A counter for
/// each sample is reduced with the parameters.
///
/// Arguments: a file that ends the training after an epoch when it exists; the milliseconds of each
/// step; and faults. `throw:2:5`: worker 2 throws in step 5; `hold:2:commit:5`: worker 2 holds in
/// that phase of step 5, see [FileSignals]. Phases are
///
/// | phase       | where it holds                                                   | number     |
/// |-------------|------------------------------------------------------------------|------------|
/// | `start`     | before it asks for its first place                               | 0          |
/// | `meeting`   | in `Hvd.init`, when it has a place and has not met the others    | its count  |
/// | `sync`      | before it takes part in sending the state                        | generation |
/// | `allreduce` | before it takes part in the sum that the others wait for         | step       |
/// | `commit`    | in the middle of a commit                                        | step       |
/// | `restore`   | after a loss, while the others ask for their next places already | generation |
final class ElasticTrainer {
    /// The samples of a step: 1, 2, 3, 4 and 6 ranks divide them evenly.
    private static final int BATCH = 24;

    static final int STEPS_PER_EPOCH = SpiralNetwork.SAMPLES / BATCH;

    private static final double RATE = 0.1;

    /// The result of a training.
    ///
    /// @param parameters their hash
    /// @param fewest how often the least used sample was used
    record Result(
            int step, int epochs, int size, double loss, int parameters, int fewest, int most) {}

    private final FileSignals signals;
    private final IntPredicate isFinished;
    private final Duration pause;
    private final List<String> faults;
    private final Consumer<String> out;
    private final String worker = String.valueOf(System.getenv("HOROVOD_ELASTIC_WORKER"));
    private final SpiralNetwork network = new SpiralNetwork(1);
    private final int[] seen = new int[SpiralNetwork.SAMPLES];
    private final ElasticSampler sampler =
            new ElasticSampler(
                    SpiralNetwork.SAMPLES, Sampling.shuffled(2).withLastBatch(LastBatch.UNEVEN));
    private final ObjectState state =
            new ObjectState()
                    .with("phases", new PhaseState())
                    .with("parameters", network.parameters())
                    .with("seen", seen)
                    .with("sampler", sampler)
                    .with("step", 0);
    private int inits;

    /// @param isFinished called with the number of completed epochs
    private ElasticTrainer(
            FileSignals fileSignals,
            IntPredicate isFinished,
            Duration pause,
            List<String> faults,
            Consumer<String> out) {
        this.signals = fileSignals;
        this.isFinished = isFinished;
        this.pause = pause;
        this.faults = faults;
        this.out = out;
    }

    public static void main(String[] arguments) {
        IO.println(
                "job=%s pid=%d"
                        .formatted(System.getenv("HOROVOD_JOB_ID"), ProcessHandle.current().pid()));
        FileSignals fileSignals = new FileSignals(Path.of(arguments[0]));
        ElasticTrainer trainer =
                new ElasticTrainer(
                        fileSignals,
                        _ -> fileSignals.isEnded(),
                        Duration.ofMillis(Long.parseLong(arguments[1])),
                        List.of(arguments).subList(2, arguments.length),
                        IO::println);
        System.setErr(trainer.watchForRankAssignment(System.err));
        trainer.holdIfRequested("start", 0);
        trainer.run().ifPresent(result -> IO.println("done " + result));
        Hvd.shutdown();
    }

    /// Trains for this number of epochs in this process, without faults.
    static Result trainWithoutFaults(int epochs) {
        FileSignals none = new FileSignals(Path.of("none"));
        try {
            return new ElasticTrainer(
                            none, done -> done == epochs, Duration.ZERO, List.of(), _ -> {})
                    .run()
                    .orElseThrow();
        } finally {
            Hvd.shutdown();
        }
    }

    /// @return nothing when the job dismissed this worker
    private Optional<Result> run() {
        if (!Elastic.run(state, _ -> train())) {
            return Optional.empty();
        }
        return Optional.of(
                new Result(
                        state.getInt("step"),
                        sampler.epoch() + 1,
                        Hvd.size(),
                        network.loss(),
                        Arrays.hashCode(network.parameters()),
                        Arrays.stream(seen).min().orElseThrow(),
                        Arrays.stream(seen).max().orElseThrow()));
    }

    private void train() {
        out.accept(
                "begin worker=%s host=%s rank=%d size=%d step=%d pid=%d"
                        .formatted(
                                worker,
                                System.getenv("HOROVOD_HOSTNAME"),
                                Hvd.rank(),
                                Hvd.size(),
                                state.getInt("step"),
                                ProcessHandle.current().pid()));
        finishEpoch();
        while (!isEnd()) {
            sampler.nextEpoch();
            finishEpoch();
        }
    }

    private void finishEpoch() {
        while (sampler.hasNext(BATCH / Hvd.size())) {
            step(state.getInt("step") + 1);
            state.commit();
            out.accept("step=%d size=%d".formatted(state.getInt("step"), Hvd.size()));
        }
    }

    /// Ranks may see the file at different times, so they agree.
    private boolean isEnd() {
        float[] isEndForSome = {isFinished.test(sampler.epoch() + 1) ? 1 : 0};
        Hvd.allreduce("end", isEndForSome, ReduceOp.MAX);
        return isEndForSome[0] > 0;
    }

    private void step(int step) {
        throwIfRequested(step);
        LockSupport.parkNanos(pause.toNanos());
        int[] samples = sampler.nextBatch(BATCH / Hvd.size());
        double[] gradient = network.gradient(samples);
        int[] taken = new int[SpiralNetwork.SAMPLES];
        Arrays.stream(samples).forEach(sample -> taken[sample]++);
        holdIfRequested("allreduce", step);
        Hvd.allreduce("gradient", gradient, ReduceOp.SUM);
        Hvd.allreduce("taken", Tensor.of(taken), ReduceOp.SUM);
        network.step(gradient, BATCH, RATE);
        Arrays.setAll(seen, sample -> seen[sample] + taken[sample]);
        state.set("step", step);
    }

    private void throwIfRequested(int step) {
        if (faults.contains("throw:%s:%d".formatted(worker, step))
                || signals.isFailureRequested(worker)) {
            throw new IllegalStateException("worker %s throws in step %d".formatted(worker, step));
        }
        if (faults.contains("throw:all:%d".formatted(step))) {
            throw new IllegalStateException("every worker throws in step %d".formatted(step));
        }
    }

    private void holdIfRequested(String phase, int number) {
        if (faults.contains("hold:%s:%s:%d".formatted(worker, phase, number))) {
            signals.hold(phase, worker);
        }
    }

    /// Between the assignment of its rank and the rendezvous a worker only calls the log.
    private PrintStream watchForRankAssignment(PrintStream log) {
        return new PrintStream(log, true) {
            @Override
            public void print(String lines) {
                super.print(lines);
                if (lines.contains("elastic worker %s is rank".formatted(worker))) {
                    holdIfRequested("meeting", inits++);
                }
            }
        };
    }

    /// An empty part of the state that observes commit, restore and sync.
    private final class PhaseState extends State {
        private int generation;

        @Override
        protected void generationStarted(Communicator communicator) {
            generation = Hvd.membership().generation();
        }

        @Override
        protected void save() {
            holdIfRequested("commit", state.getInt("step"));
        }

        @Override
        public void restore() {
            holdIfRequested("restore", generation);
        }

        @Override
        public void sync(Communicator communicator, int rootRank) {
            holdIfRequested("sync", generation);
        }
    }
}
