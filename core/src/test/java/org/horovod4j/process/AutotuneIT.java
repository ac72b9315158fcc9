package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.process.RuntimeAcceptanceTests.filled;

import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/// A job that tunes itself while it trains.
class AutotuneIT {
    private static final int TENSORS = 20;
    private static final String BEST = "best";

    @TempDir Path folder;

    /// Trains until the test sends a signal, and checks every sum: tuning must not change results.
    /// Each gradient is longer than the one before by as many values as the argument says.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            int unit = Integer.parseInt(args[0]);
            Hvd.init();
            float[] enough = new float[1];
            for (int step = 0; enough[0] == 0; step++) {
                enough[0] = TestSignal.isReceived() ? 1 : 0;
                List<Handle<Tensor>> handles = new ArrayList<>();
                for (int i = 0; i < TENSORS; i++) {
                    float[] gradient = filled(unit * i + 1, step % 100 + Hvd.rank());
                    handles.add(
                            Hvd.allreduceAsync("gradient " + i, Tensor.of(gradient), ReduceOp.SUM));
                }
                Handle<Tensor> ending =
                        Hvd.allreduceAsync("enough", Tensor.of(enough), ReduceOp.MAX);
                for (int i = 0; i < TENSORS; i++) {
                    float sum = Hvd.size() * (step % 100) + Hvd.size() * (Hvd.size() - 1) / 2f;
                    assertThat(handles.get(i).join().toFloatArray())
                            .isEqualTo(filled(unit * i + 1, sum));
                }
                ending.join();
            }
            Hvd.shutdown();
        }
    }

    @ParameterizedTest(name = "transport {0}")
    @ValueSource(strings = "auto")
    @SlowCases("tcp")
    void tuningResultIsUsedByNextJob(String transport) throws Exception {
        Path log = folder.resolve("autotune.csv");
        Path saved = folder.resolve("autotune.properties");
        TestJobPlan plan =
                tuned(TestJobPlan.of(2, Worker.class, "500").compiledFully(), log)
                        .with(Options.TRANSPORT, transport)
                        .with(RuntimeOptions.AUTOTUNE_FILE, saved.toString());
        try (TestJob testJob = plan.start()) {
            String chosen = testJob.rank(0).awaitWords("autotune: done after");
            // Never anything that was not measured to be faster.
            assertThat(chosen).containsPattern("the defaults stay|faster than the defaults");
            assertThat(testJob.rank(0).awaitWords("autotune: saved in")).contains(saved.toString());
            finish(testJob);
            assertThat(testJob.rank(1).output()).doesNotContain("autotune:");
        }
        List<String> rows = Files.readAllLines(log);
        assertThat(rows.getFirst()).startsWith("phase,").endsWith(",score");
        assertThat(rows).filteredOn(row -> row.startsWith("search,")).hasSize(6);
        assertThat(rows.getLast()).startsWith(BEST + ",");
        assertThat(saved).content().contains("HOROVOD_FUSION_THRESHOLD=", "ranks=2");

        String kept = Files.readString(saved);
        try (TestJob testJob = plan.start()) {
            assertThat(testJob.rank(0).awaitWords("autotune: ")).contains("from " + saved);
            finish(testJob);
            assertThat(testJob.rank(0).output()).doesNotContain("autotune: sample");
        }
        assertThat(saved).hasContent(kept);
        assertThat(Files.readAllLines(log).getLast()).startsWith(BEST + ",");
    }

    /// Gradients from 4 bytes to half a megabyte. The lowest switch point that is tried is in this
    /// range.
    @Test
    void ringBytesAndStreamsAreTunedBetweenHosts() throws Exception {
        Path log = folder.resolve("hosts.csv");
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost();
                TestJob testJob =
                        tuned(TestJobPlan.of(4, Worker.class, "7000").compiledFully(), log)
                                .with(RuntimeOptions.AUTOTUNE_MAX_SAMPLES, "24")
                                .onHosts(alpha, beta)
                                .start()) {
            testJob.rank(0).awaitWords("autotune: done after");
            finish(testJob);
        }
        List<String> rows = Files.readAllLines(log);
        List<String> columns = List.of(rows.getFirst().split(",", -1));
        for (String knob : List.of("ring_bytes", "streams")) {
            assertThat(columns).contains(knob);
            assertThat(rows.stream().filter(row -> row.startsWith("search,")))
                    .hasSizeLessThanOrEqualTo(24)
                    .extracting(row -> row.split(",", -1)[columns.indexOf(knob)])
                    .as("values of %s in %s", knob, rows)
                    .satisfies(values -> assertThat(Set.copyOf(values)).hasSizeGreaterThan(1));
        }
    }

    private static TestJobPlan tuned(TestJobPlan plan, Path log) {
        return plan.with(RuntimeOptions.LOG_LEVEL, "info")
                .with(RuntimeOptions.AUTOTUNE, "1")
                .with(RuntimeOptions.AUTOTUNE_LOG, log.toString())
                .with(RuntimeOptions.AUTOTUNE_WARMUP_SAMPLES, "1")
                .with(RuntimeOptions.AUTOTUNE_STEPS_PER_SAMPLE, "3")
                .with(RuntimeOptions.AUTOTUNE_MAX_SAMPLES, "6");
    }

    private static void finish(TestJob testJob) throws Exception {
        testJob.rank(0).sendSignal();
        testJob.awaitSuccess();
    }
}
