package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/// Runs functions of this class on the workers of elastic jobs.
class ElasticFunctionIT {
    private static final int STEPS = 10;

    private final Queue<String> lines = new ConcurrentLinkedQueue<>();

    @Test
    void jobContinuesWithoutLostWorker() {
        int lost = 1;
        List<String> results =
                TestCommands.functionRanks(3)
                        .minProcesses(2)
                        .resetLimit(1)
                        .output(lines::add)
                        .runElastic(() -> train(lost));
        assertThat(results)
                .as(() -> String.join("\n", lines))
                .containsExactly("rank 0 of 2, step 10", "rank 1 of 2, step 10");
    }

    private static String train(int lost) {
        ObjectState state = new ObjectState().with("step", 0);
        boolean isTrained =
                Elastic.run(
                        state,
                        s -> {
                            while (s.getInt("step") < STEPS) {
                                if (s.getInt("step") == STEPS / 2
                                        && Hvd.membership().generation() == 0
                                        && Hvd.rank() == lost) {
                                    Runtime.getRuntime().halt(3);
                                }
                                Hvd.allreduce("x", new float[] {1}, ReduceOp.SUM);
                                s.set("step", s.getInt("step") + 1);
                                s.commit();
                            }
                        });
        assertThat(isTrained).isTrue();
        return "rank %d of %d, step %d".formatted(Hvd.rank(), Hvd.size(), state.getInt("step"));
    }

    @Test
    void failedJobHasExceptionOfFunction() {
        assertThatExceptionOfType(LaunchException.class)
                .isThrownBy(
                        () ->
                                TestCommands.functionRanks(1)
                                        .output(lines::add)
                                        .runElastic(ElasticFunctionIT::fail))
                .havingCause()
                .isInstanceOf(IllegalStateException.class)
                .withMessage("no data")
                .withStackTraceContaining("ElasticFunctionIT.");
    }

    private static String fail() {
        boolean _ =
                Elastic.run(
                        new ObjectState().with("step", 0),
                        _ -> {
                            throw new IllegalStateException("no data");
                        });
        return "";
    }
}
