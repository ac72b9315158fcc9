package org.horovod4j.launcher;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/// An elastic worker: a training whose result is the same however many workers take part, and whichever
/// of them are lost.
///
/// In each step every rank contributes the same gradient, and their average is added to the weights. So the
/// weights tell whether a step was lost or done twice; see [#weightAfter].
///
/// Arguments: the number of steps, or a file whose appearance ends the training; the milliseconds of each
/// step; and what else to do, as in `throw:2:5` (worker 2 throws in step 5).
final class ElasticTrainer {
    private static final int WEIGHTS = 1000;

    private final Predicate<Integer> isLast;
    private final Duration pause;
    private final String misdeed;
    private final String worker = String.valueOf(System.getenv("HOROVOD_ELASTIC_WORKER"));
    private final float[] weights = new float[WEIGHTS];
    private final ObjectState state = new ObjectState().with("weights", weights).with("step", 0);

    private ElasticTrainer(Predicate<Integer> isLast, Duration pause, String misdeed) {
        this.isLast = isLast;
        this.pause = pause;
        this.misdeed = misdeed;
    }

    public static void main(String[] arguments) {
        IO.println(
                "job=%s pid=%d"
                        .formatted(System.getenv("HOROVOD_JOB_ID"), ProcessHandle.current().pid()));
        new ElasticTrainer(
                        isLast(arguments[0]),
                        Duration.ofMillis(Long.parseLong(arguments[1])),
                        arguments.length > 2 ? arguments[2] : "")
                .run();
    }

    private static Predicate<Integer> isLast(String argument) {
        if (argument.startsWith("/")) {
            Path file = Path.of(argument);
            return _ -> Files.exists(file);
        }
        int steps = Integer.parseInt(argument);
        return step -> step >= steps;
    }

    /// Small whole numbers, whose sums are exact for days.
    private static int gradient(int step) {
        return step % 10;
    }

    /// What every weight is after so many steps, each done once.
    static int weightAfter(int steps) {
        return IntStream.rangeClosed(1, steps).map(ElasticTrainer::gradient).sum();
    }

    private void run() {
        Elastic.run(state, _ -> train());
        IO.println(
                "done step=%d size=%d weight=%.0f same=%b"
                        .formatted(state.getInt("step"), Hvd.size(), weights[0], isSame()));
        Hvd.shutdown();
    }

    private void train() {
        IO.println(
                "begin worker=%s rank=%d size=%d step=%d pid=%d"
                        .formatted(
                                worker,
                                Hvd.rank(),
                                Hvd.size(),
                                state.getInt("step"),
                                ProcessHandle.current().pid()));
        boolean hasMore = true;
        while (hasMore) {
            int step = state.getInt("step") + 1;
            misbehave(step);
            float[] gradient = new float[WEIGHTS];
            Arrays.fill(gradient, gradient(step));
            LockSupport.parkNanos(pause.toNanos());
            Hvd.allreduce("gradient", gradient, ReduceOp.AVERAGE);
            float[] isLastForSome = {
                isLast.test(step) ? 1 : 0
            }; // a file is not seen by all at once
            Hvd.allreduce("last", isLastForSome, ReduceOp.MAX);
            for (int at = 0; at < WEIGHTS; at++) {
                weights[at] += Math.round(gradient[at]);
            }
            state.set("step", step);
            hasMore = isLastForSome[0] == 0;
            if (hasMore) {
                state.commit();
            }
            IO.println("step=%d size=%d".formatted(step, Hvd.size()));
        }
    }

    private void misbehave(int step) {
        if (misdeed.equals("throw:%s:%d".formatted(worker, step))) {
            throw new IllegalStateException("worker %s throws in step %d".formatted(worker, step));
        }
        if (misdeed.equals("throw:all:%d".formatted(step))) {
            throw new IllegalStateException("every worker throws in step %d".formatted(step));
        }
    }

    private boolean isSame() {
        for (float weight : weights) {
            if (weight != weights[0]) {
                return false;
            }
        }
        return true;
    }
}
