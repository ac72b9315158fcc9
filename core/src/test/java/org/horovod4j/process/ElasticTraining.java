package org.horovod4j.process;

import org.horovod4j.Communicator;
import org.horovod4j.DismissedException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ElasticSampler;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.elastic.State;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The program of a worker: it adds up the numbers of all samples. If a sample is lost or counted
/// twice, the weights differ.
///
/// Arguments say where this worker waits for a signal of the test (`hold=allreduce@3`,
/// `hold=commit@3`, `hold=sync@1`) or throws (`throw@3`): at a step, or for `sync` at a generation.
/// With `commit-every=5` it commits less often than it checks for hosts. `set=2` creates a process
/// set of that rank.
final class ElasticTraining {
    static final int EPOCHS = 2;
    static final int SAMPLES = 240;

    private static final int BATCH = 4;
    private static final int LENGTH = 50_000;

    private final List<String> arguments;
    private final float[] weights = new float[LENGTH];
    private final ElasticSampler sampler =
            new ElasticSampler(SAMPLES, Sampling.shuffled(7).withLastBatch(LastBatch.UNEVEN));
    private final ObjectState state =
            new ObjectState()
                    .with("holding", new PausingState())
                    .with("weights", weights)
                    .with("sampler", sampler)
                    .with("step", 0);

    private ElasticTraining(List<String> arguments) {
        this.arguments = arguments;
    }

    public static void main(String[] args) {
        try {
            new ElasticTraining(List.of(args)).run();
        } catch (DismissedException e) {
            System.out.println("dismissed before training: " + e.getMessage());
        }
    }

    /// What every worker prints at the end.
    static String result() {
        float[] expected = new float[LENGTH];
        for (int sample = 0; sample < SAMPLES; sample++) {
            for (int i = sample; i < LENGTH; i += SAMPLES) {
                expected[i] = EPOCHS * (sample + 1);
            }
        }
        return "weights %08x after %d epochs".formatted(Arrays.hashCode(expected), EPOCHS);
    }

    private void run() {
        Hvd.init(processSets());
        state.onReset(() -> System.out.println("reset, " + where()));
        if (Elastic.run(state, _ -> train())) {
            System.out.printf(
                    "weights %08x after %d epochs%n", Arrays.hashCode(weights), sampler.epoch());
        } else {
            System.out.println("dismissed");
        }
        Hvd.shutdown();
    }

    private void train() {
        System.out.println("begin, " + where());
        while (sampler.epoch() < EPOCHS) {
            while (sampler.hasNext(BATCH)) {
                step();
            }
            sampler.nextEpoch();
        }
    }

    private void step() {
        int step = state.getInt("step");
        System.out.printf("step %d of generation %d%n", step, Hvd.membership().generation());
        if (arguments.contains("throw@" + step)) {
            throw new IllegalStateException("this program has a fault");
        }
        pauseAt("allreduce", step);
        float[] gradient = new float[LENGTH];
        for (int sample : sampler.nextBatch(BATCH)) {
            for (int i = sample; i < LENGTH; i += SAMPLES) {
                gradient[i] += sample + 1;
            }
        }
        Hvd.allreduce("gradient", gradient, ReduceOp.SUM);
        for (int i = 0; i < LENGTH; i++) {
            weights[i] += gradient[i];
        }
        state.set("step", step + 1);
        if ((step + 1) % commitEvery() == 0) {
            state.commit();
        } else {
            state.checkHostUpdates();
        }
    }

    private int commitEvery() {
        return numbers("commit-every=").findFirst().orElse(1);
    }

    private List<List<Integer>> processSets() {
        return numbers("set=").map(List::of).toList();
    }

    private Stream<Integer> numbers(String argument) {
        return arguments.stream()
                .filter(each -> each.startsWith(argument))
                .map(each -> Integer.valueOf(each.substring(argument.length())));
    }

    private String where() {
        return "generation %d: rank %d of %d, local %d of %d, step %d, sets %s"
                .formatted(
                        Hvd.membership().generation(),
                        Hvd.rank(),
                        Hvd.size(),
                        Hvd.localRank(),
                        Hvd.localSize(),
                        state.getInt("step"),
                        Hvd.processSets().stream()
                                .map(set -> set.id() + "=" + set.ranks())
                                .collect(Collectors.joining(" ")));
    }

    /// Waits for the signal of the test, if an argument says so for this point.
    private void pauseAt(String where, int number) {
        if (arguments.contains("hold=%s@%d".formatted(where, number))) {
            System.out.printf("holding in %s%n", where);
            TestSignal.await();
        }
    }

    /// A part of the state without content. It waits where the others commit and sync.
    private final class PausingState extends State {
        @Override
        protected void save() {
            pauseAt("commit", state.getInt("step"));
        }

        @Override
        public void restore() {}

        @Override
        public void sync(Communicator communicator, int rootRank) {
            pauseAt("sync", Hvd.membership().generation());
        }
    }
}
