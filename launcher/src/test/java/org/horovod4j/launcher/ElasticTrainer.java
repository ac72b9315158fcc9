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
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntPredicate;

/// An elastic worker, which trains a [SpiralNetwork]: the result is the same however many workers take
/// part, and whichever of them are lost.
///
/// The batch of a step is always the same samples, which the ranks share out. So an epoch has as many
/// steps whatever happens, and the loss that a training without a fault has. How often each sample
/// contributed is counted beside the parameters.
///
/// Arguments: a file whose appearance ends the training after an epoch; the milliseconds of each step;
/// and what else to do. `throw:2:5`: worker 2 throws in step 5; `hold:2:commit:5`: worker 2 holds in that
/// phase of step 5, see [FileSignals]. Phases are
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
    /// The samples that all ranks together take in a step: worlds of 1, 2, 3, 4 and 6 share them evenly.
    private static final int BATCH = 24;

    static final int STEPS_PER_EPOCH = SpiralNetwork.SAMPLES / BATCH;

    private static final double RATE = 0.1;

    /// What a training has led to.
    ///
    /// @param parameters their hash
    /// @param fewest how often the sample was seen that was seen least
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

    /// @param isFinished told how many epochs are done
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
        IO.println("done " + trainer.run());
        Hvd.shutdown();
    }

    /// Trains for so many epochs in this process alone, without a fault.
    static Result trainWithoutFaults(int epochs) {
        FileSignals none = new FileSignals(Path.of("none"));
        try {
            return new ElasticTrainer(
                            none, done -> done == epochs, Duration.ZERO, List.of(), _ -> {})
                    .run();
        } finally {
            Hvd.shutdown();
        }
    }

    private Result run() {
        Elastic.run(state, _ -> train());
        return new Result(
                state.getInt("step"),
                sampler.epoch() + 1,
                Hvd.size(),
                network.loss(),
                Arrays.hashCode(network.parameters()),
                Arrays.stream(seen).min().orElseThrow(),
                Arrays.stream(seen).max().orElseThrow());
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

    /// A file is not seen by all ranks at once.
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

    /// Between its place and the meeting a worker calls nothing of its program but the log.
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

    /// A part of the state with nothing in it, which is there when others commit, go back and sync.
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
