package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.optim.overlap.Overlap;
import org.horovod4j.optim.overlap.OverlapHeuristic;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/// Gradients are reduced while backward computes others, without copies.
class OverlapIT {
    private static final int BATCH = 4;
    private static final int STEPS = 3;
    private static final String FIRST_LAYER = "01Linear_weight";

    @Test
    void gradientsAreReducedDuringBackwardWithoutCopies() {
        TestTraining.ranks(2)
                .execute(
                        comm -> {
                            lastLayersAreReducedWhileFirstAreComputed(comm);
                            nothingIsCopied(comm);
                            withoutHooksTheStepLaunchesEverything(comm);
                        });
    }

    @Test
    void stepLaunchesAllGradientsWhenAllProcessorsAreBusy() {
        TestTraining.ranksOnAllProcessors(2)
                .execute(
                        comm -> {
                            stepsLaunchByDefault(comm);
                            passesAreCountedWithoutOverlap(comm);
                            lastLayersAreReducedWhileFirstAreComputed(comm);
                        });
    }

    /// Even if all processors of each host compute.
    @Test
    void overlapsByDefaultOnSeveralHosts(@TempDir Path folder) throws Exception {
        assumeTrue(
                Processes.run("unshare", "--pid", "--fork", "--mount-proc", "true") == 0,
                "needs the right to create namespaces of processes (root)");
        // Runs java as on a host of its own: in a namespace of process ids, and without the
        // variables
        // by which the launcher says that the ranks share this machine.
        Path script =
                Files.writeString(
                        folder.resolve("run-java"),
                        """
                        #!/bin/sh
                        unset HOROVOD_LOCAL_RANK HOROVOD_LOCAL_SIZE HOROVOD_CROSS_RANK HOROVOD_CROSS_SIZE
                        exec unshare --pid --fork --mount-proc "%s" "$@"
                        """
                                .formatted(TestJvm.JAVA));
        assertThat(script.toFile().setExecutable(true)).isTrue();
        int all = Runtime.getRuntime().availableProcessors();
        defaultsEqualOneProcess(
                TestTraining.ranksOnAllProcessors(2)
                        .hosts("localhost:1,127.0.0.1:1")
                        .java(script.toString()),
                new OverlapHeuristic(true, true, 1, all, all));
    }

    /// The number of processors is a JVM option, since the machine may have fewer.
    @Test
    void overlapsByDefaultWithIdleProcessor() {
        defaultsEqualOneProcess(
                DjlProcesses.launcher(2, "-XX:ActiveProcessorCount=3")
                        .environment(Map.of("OMP_NUM_THREADS", "1")),
                new OverlapHeuristic(false, true, 2, 1, 3));
    }

    @Test
    void hooksOptionOnEnablesOverlapByDefault() {
        TestTraining.ranksOnAllProcessors(2)
                .options(Map.of("HOROVOD_GRADIENT_HOOKS", "on"))
                .execute(
                        comm -> {
                            float[] _ = afterTheFirstStepPassesLaunch(comm);
                            withoutHooksTheStepLaunchesEverything(comm);
                        });
    }

    @Test
    void hooksOptionOffDisablesHooks() {
        TestTraining.ranks(2)
                .options(Map.of("HOROVOD_GRADIENT_HOOKS", "off"))
                .execute(
                        comm -> {
                            reasonNamesOption(comm, builder -> builder);
                            reasonNamesOption(comm, builder -> builder.overlap(true));
                        });
    }

    /// @param isFirstLayerDone whether backward had computed the gradient of the first layer
    /// @param isInsideBackward whether backward was running
    private record Launch(String name, boolean isFirstLayerDone, boolean isInsideBackward) {}

    /// A training that records launches.
    private static final class RecordingTraining implements AutoCloseable {
        final List<Launch> launches = new ArrayList<>();
        final Map<String, Long> addresses = new HashMap<>();
        final RecordingCommunicator recording;
        final TestTraining testTraining;

        RecordingTraining(Communicator comm, UnaryOperator<DistributedOptimizer.Builder> settings) {
            recording = new RecordingCommunicator(comm, this::submitted);
            testTraining =
                    new TestTraining(
                            TestTraining.network(),
                            block ->
                                    settings.apply(
                                                    DistributedOptimizer.wrap(
                                                            TestTraining.sgd(), block))
                                            .communicator(recording.communicator())
                                            .build(),
                            TestTraining.INPUT);
        }

        private void submitted(String name, MemorySegment tensor) {
            addresses.put(name, tensor.address());
            boolean isDone = false;
            for (float value : testTraining.gradient(FIRST_LAYER)) {
                isDone |= value != 0;
            }
            boolean inside =
                    StackWalker.getInstance()
                            .walk(
                                    frames ->
                                            frames.anyMatch(
                                                    frame ->
                                                            frame.getMethodName()
                                                                    .equals("backward")));
            launches.add(new Launch(name, isDone, inside));
        }

        void step(Communicator comm, int step) {
            int from = (step * comm.size() + comm.rank()) * BATCH;
            launches.clear();
            testTraining.pass(from, from + BATCH);
            testTraining.step();
        }

        @Override
        public void close() {
            testTraining.close();
        }
    }

    private static void lastLayersAreReducedWhileFirstAreComputed(Communicator comm) {
        try (RecordingTraining recordingTraining =
                new RecordingTraining(comm, builder -> builder.overlap(true))) {
            for (int step = 0; step < STEPS; step++) {
                recordingTraining.step(comm, step);
                assertLastLayersWereReducedFirst(recordingTraining);
            }
            Overlap overlap = recordingTraining.testTraining.optimizer().overlap();
            assertThat(overlap.isUsed()).isTrue();
            assertThat(overlap.overlapTiming().launchedByPasses()).isEqualTo(STEPS * 6);
            assertThat(overlap.overlapTiming().launchedBySteps()).isZero();
        }
    }

    private static void assertLastLayersWereReducedFirst(RecordingTraining recordingTraining) {
        assertThat(recordingTraining.launches).hasSize(6).allMatch(Launch::isInsideBackward);
        Launch first = recordingTraining.launches.getFirst();
        assertThat(first.name()).startsWith("gradient.05Linear");
        assertThat(first.isFirstLayerDone()).isFalse();
        Launch last = recordingTraining.launches.getLast();
        assertThat(last.name()).startsWith("gradient.01Linear");
    }

    /// After the first step gradients are in shared memory, in reverse order of the layers.
    private static void nothingIsCopied(Communicator comm) {
        try (RecordingTraining recordingTraining =
                new RecordingTraining(comm, builder -> builder.overlap(true))) {
            recordingTraining.step(comm, 0);
            EngineAccess access =
                    EngineAccess.of(recordingTraining.testTraining.model.getNDManager());
            Map<String, Long> homes = new HashMap<>();
            for (String name : recordingTraining.testTraining.names()) {
                homes.put(
                        "gradient." + name, address(access, recordingTraining.testTraining, name));
            }
            MemorySegment block = recordingTraining.recording.allocated.getFirst().segment();
            assertThat(recordingTraining.recording.allocated).hasSize(1);
            assertThat(homes.values())
                    .allMatch(
                            address ->
                                    address >= block.address()
                                            && address < block.address() + block.byteSize());
            assertThat(homes.get("gradient.05Linear_weight"))
                    .isLessThan(homes.get("gradient.01Linear_weight"));
            int arrays = recordingTraining.testTraining.arrayCount();
            for (int step = 1; step < 4; step++) {
                System.gc();
                recordingTraining.step(comm, step);
                assertThat(recordingTraining.addresses).isEqualTo(homes);
            }
            assertThat(recordingTraining.testTraining.arrayCount()).isEqualTo(arrays);
            TestTraining.assertSameOnAllRanks(comm, recordingTraining.testTraining.weights());
        }
    }

    private static long address(EngineAccess access, TestTraining testTraining, String name) {
        try (NDArray gradient = testTraining.parameter(name).getArray().getGradient()) {
            return access.memory(gradient).orElseThrow().address();
        }
    }

    private static void withoutHooksTheStepLaunchesEverything(Communicator comm) {
        try (RecordingTraining recordingTraining =
                new RecordingTraining(comm, builder -> builder.overlap(false))) {
            recordingTraining.step(comm, 0);
            recordingTraining.step(comm, 1);
            assertThat(recordingTraining.launches).hasSize(6).noneMatch(Launch::isInsideBackward);
            assertThat(recordingTraining.launches.getFirst().name())
                    .startsWith("gradient.05Linear");
            assertThat(recordingTraining.testTraining.optimizer().overlap())
                    .matches(overlap -> !overlap.isUsed())
                    .matches(overlap -> overlap.reason().contains("overlap(false)"));
        }
    }

    private static void stepsLaunchByDefault(Communicator comm) {
        try (RecordingTraining recordingTraining =
                new RecordingTraining(comm, builder -> builder)) {
            for (int step = 0; step < STEPS; step++) {
                recordingTraining.step(comm, step);
                assertThat(recordingTraining.launches)
                        .hasSize(6)
                        .noneMatch(Launch::isInsideBackward);
                assertThat(recordingTraining.launches.getFirst().name())
                        .startsWith("gradient.05Linear");
            }
            int processors = Runtime.getRuntime().availableProcessors();
            Overlap overlap = recordingTraining.testTraining.optimizer().overlap();
            assertThat(overlap.isUsed()).isFalse();
            assertThat(overlap.reason())
                    .startsWith("every processor of this host computes: 2 ranks of " + processors)
                    .endsWith("; overlap(true) overlaps anyway");
            assertThat(overlap.overlapTiming().launchedByPasses()).isZero();
            assertThat(overlap.overlapTiming().launchedBySteps()).isEqualTo(STEPS * 6);
            TestTraining.assertSameOnAllRanks(comm, recordingTraining.testTraining.weights());
        }
    }

    /// Otherwise a program would work on a host with many processors and fail on one with few.
    private static void passesAreCountedWithoutOverlap(Communicator comm) {
        try (RecordingTraining recordingTraining =
                new RecordingTraining(comm, builder -> builder.backwardPassesPerStep(2))) {
            float[] before = recordingTraining.testTraining.weights();
            for (int window = 1; window <= 2; window++) {
                int from = 2 * (2 * window + comm.rank()) * BATCH;
                recordingTraining.testTraining.pass(from, from + BATCH);
                recordingTraining.testTraining.pass(from + BATCH, from + 2 * BATCH);
                recordingTraining.testTraining.step();
                assertThat(recordingTraining.testTraining.weights()).isNotEqualTo(before);
                before = recordingTraining.testTraining.weights();
            }
            assertThat(recordingTraining.testTraining.optimizer().overlap().overlapTiming().steps())
                    .isEqualTo(2);
        }
    }

    /// @param expected the heuristic of each rank
    private static void defaultsEqualOneProcess(Launcher launcher, OverlapHeuristic expected) {
        List<float[]> weights =
                launcher.run(
                        comm -> {
                            int threads =
                                    GradientSynchronizer.threads(0, FrameworkSettings.of(comm));
                            assertThat(OverlapHeuristic.of(comm.processSet(), true, threads))
                                    .isEqualTo(expected);
                            return afterTheFirstStepPassesLaunch(comm);
                        });
        assertThat(weights.get(1)).containsExactly(weights.get(0));
        assertThat(weights.get(0)).containsExactly(weightsOfOneProcess(2), Offset.offset(1e-4f));
    }

    /// Plain DJL on the samples of all ranks.
    private static float[] weightsOfOneProcess(int ranks) {
        try (TestTraining testTraining =
                new TestTraining(
                        TestTraining.network(), _ -> TestTraining.sgd(), TestTraining.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                testTraining.pass(step * ranks * BATCH, (step + 1) * ranks * BATCH);
                testTraining.step();
            }
            return testTraining.weights();
        }
    }

    /// The ranks agree in the first step.
    ///
    /// @return the weights after all steps
    private static float[] afterTheFirstStepPassesLaunch(Communicator comm) {
        try (RecordingTraining recordingTraining =
                new RecordingTraining(comm, builder -> builder)) {
            assertThat(recordingTraining.testTraining.optimizer().overlap().reason())
                    .contains("in the first step");
            recordingTraining.step(comm, 0);
            assertThat(recordingTraining.launches).hasSize(6).noneMatch(Launch::isInsideBackward);
            for (int step = 1; step < STEPS; step++) {
                recordingTraining.step(comm, step);
                assertLastLayersWereReducedFirst(recordingTraining);
            }
            Overlap overlap = recordingTraining.testTraining.optimizer().overlap();
            assertThat(overlap.isUsed()).isTrue();
            assertThat(overlap.reason()).isEmpty();
            assertThat(overlap.overlapTiming().launchedByPasses()).isEqualTo((STEPS - 1) * 6);
            assertThat(overlap.overlapTiming().launchedBySteps()).isEqualTo(6);
            return recordingTraining.testTraining.weights();
        }
    }

    private static void reasonNamesOption(
            Communicator comm, UnaryOperator<DistributedOptimizer.Builder> settings) {
        try (RecordingTraining recordingTraining = new RecordingTraining(comm, settings)) {
            recordingTraining.step(comm, 0);
            recordingTraining.step(comm, 1);
            assertThat(recordingTraining.launches).hasSize(6).noneMatch(Launch::isInsideBackward);
            assertThat(recordingTraining.testTraining.optimizer().overlap())
                    .matches(overlap -> !overlap.isUsed())
                    .matches(overlap -> overlap.reason().contains("HOROVOD_GRADIENT_HOOKS"));
        }
    }
}
