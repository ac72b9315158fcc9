package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testsupport.ParsedTrace.number;

import org.horovod4j.Communicator;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.ParsedTrace;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tensorflow.framework.optimizers.GradientDescent;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Reads from the timeline of a training when gradients were submitted, and when they were reduced.
class OverlapIT {
    private static final int STEPS = 30;
    private static final int BATCH = 8;
    private static final int VARIABLES = 6;

    @TempDir Path folder;

    /// The times of one gradient in one step.
    private record Times(BigDecimal submitted, BigDecimal started) {}

    /// In a step with overlap an allreduce starts before the last gradient is submitted. Without
    /// fusion, or fusion would wait for it. On a busy machine the thread that starts it may come late in
    /// most steps; without overlap it never does, as the next test shows.
    @Test
    void gradientsTravelWhileBackwardComputesOthers() throws IOException {
        assertThat(stepsWithOverlap("each.json", 0)).isPositive();
    }

    /// A group is reduced when all its gradients are there: the comparison notices it.
    @Test
    void oneGroupOfAllGradientsDoesNotOverlap() throws IOException {
        assertThat(stepsWithOverlap("group.json", 1)).isZero();
    }

    private int stepsWithOverlap(String name, int groups) throws IOException {
        Path file = folder.resolve(name);
        Launcher.processes(2)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .options(
                        Map.of(
                                "HOROVOD_TIMELINE",
                                file.toString(),
                                "HOROVOD_FUSION_THRESHOLD",
                                "0"))
                .execute(comm -> train(comm, groups));
        ParsedTrace trace = ParsedTrace.of(file);
        List<List<Times>> gradients =
                trace.rows().stream()
                        .filter(row -> row.startsWith("gradient/"))
                        .map(row -> times(trace, row))
                        .toList();
        assertThat(gradients).hasSize(VARIABLES);
        int count = 0;
        for (int i = 0; i < STEPS; i++) {
            int step = i;
            BigDecimal lastSubmitted =
                    gradients.stream()
                            .map(each -> each.get(step).submitted)
                            .reduce(BigDecimal::max)
                            .orElseThrow();
            BigDecimal firstStarted =
                    gradients.stream()
                            .map(each -> each.get(step).started)
                            .reduce(BigDecimal::min)
                            .orElseThrow();
            count += firstStarted.compareTo(lastSubmitted) < 0 ? 1 : 0;
        }
        return count;
    }

    /// A gradient has one or more slices in a step. The first begins when it is submitted, and the
    /// last one is the allreduce.
    private static List<Times> times(ParsedTrace trace, String row) {
        List<Times> times = new ArrayList<>();
        List<BigDecimal> waits = new ArrayList<>();
        trace.eventsOn(row, "XB")
                .forEach(
                        event -> {
                            BigDecimal begin = number(event, "ts");
                            waits.add(begin);
                            if ("ALLREDUCE".equals(event.get("name"))) {
                                times.add(new Times(waits.getFirst(), begin));
                                waits.clear();
                            }
                        });
        assertThat(times).as("steps of %s", row).hasSize(STEPS);
        return times;
    }

    private static void train(Communicator comm, int groups) {
        try (ImageTraining training =
                new ImageTraining(
                        48,
                        16,
                        graph ->
                                HvdTensorFlow.distributed(
                                        new GradientDescent(graph, 0.01f),
                                        options -> {
                                            if (groups > 0) {
                                                options.groups(groups);
                                            }
                                        }),
                        HvdTensorFlow.config())) {
            training.broadcast();
            for (int i = 0; i < STEPS; i++) {
                int from = (2 * i + comm.rank()) * BATCH;
                float loss = training.step(from, from + BATCH);
                assertThat(loss).isPositive();
            }
        }
    }
}
