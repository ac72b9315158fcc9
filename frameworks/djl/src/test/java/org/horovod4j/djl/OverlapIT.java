package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.launcher.Launcher;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/// Gradients travel while backward computes others, and from where it has put them.
class OverlapIT {
    private static final int BATCH = 4;
    private static final int STEPS = 3;
    private static final String FIRST_LAYER = "01Linear_weight";

    @Test
    void gradientsAreLaunchedFromWhereBackwardPutsThem() {
        Trial.ranks(2)
                .execute(
                        comm -> {
                            lastLayersTravelWhileFirstOnesAreComputed(comm);
                            nothingIsCopied(comm);
                            withoutHooksTheStepLaunchesEverything(comm);
                        });
    }

    @Test
    void whereEveryProcessorComputesTheStepLaunchesEverything() {
        Trial.busyRanks(2)
                .execute(
                        comm -> {
                            byDefaultStepsLaunch(comm);
                            passesAreCountedAllTheSame(comm);
                            lastLayersTravelWhileFirstOnesAreComputed(comm);
                        });
    }

    /// Though each host computes on all of its processors.
    @Test
    void onSeveralHostsPassesLaunchWhereNothingWasSaid() {
        int all = Runtime.getRuntime().availableProcessors();
        learnsByDefaultWhatOneProcessLearns(
                Trial.busyRanks(2).hosts("localhost:1,127.0.0.1:1"),
                new SpareTime(true, true, 1, all, all));
    }

    /// The JVM is told how many processors there are, as the machine may have fewer.
    @Test
    void whereAProcessorIsIdlePassesLaunchWhereNothingWasSaid() {
        learnsByDefaultWhatOneProcessLearns(
                Trial.ranks(2).jvmOptions(List.of("-XX:ActiveProcessorCount=3")),
                new SpareTime(false, true, 2, 1, 3));
    }

    @Test
    void anOptionOverlapsWhereNothingWasSaid() {
        Trial.busyRanks(2)
                .options(Map.of("HOROVOD_GRADIENT_HOOKS", "on"))
                .execute(
                        comm -> {
                            float[] _ = afterTheFirstStepPassesLaunch(comm);
                            withoutHooksTheStepLaunchesEverything(comm);
                        });
    }

    @Test
    void anOptionSwitchesHooksOffForAll() {
        Trial.ranks(2)
                .options(Map.of("HOROVOD_GRADIENT_HOOKS", "off"))
                .execute(
                        comm -> {
                            theOptionIsTheReason(comm, builder -> builder);
                            theOptionIsTheReason(comm, builder -> builder.overlap(true));
                        });
    }

    /// @param firstLayerIsDone whether backward had computed the gradient of the first layer by
    ///     then
    /// @param insideBackward whether backward was running
    private record Launch(String name, boolean firstLayerIsDone, boolean insideBackward) {}

    /// A trial that remembers what was launched when.
    private static final class Watched implements AutoCloseable {
        final List<Launch> launches = new ArrayList<>();
        final Map<String, Long> addresses = new HashMap<>();
        final RecordingCommunicator recording;
        final Trial trial;

        Watched(Communicator comm, UnaryOperator<DistributedOptimizer.Builder> settings) {
            recording = new RecordingCommunicator(comm, this::submitted);
            trial =
                    new Trial(
                            Trial.network(),
                            block ->
                                    settings.apply(DistributedOptimizer.wrap(Trial.sgd(), block))
                                            .communicator(recording.communicator())
                                            .build(),
                            Trial.INPUT);
        }

        private void submitted(String name, MemorySegment tensor) {
            addresses.put(name, tensor.address());
            boolean isDone = false;
            for (float value : trial.gradient(FIRST_LAYER)) {
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
            trial.pass(from, from + BATCH);
            trial.step();
        }

        @Override
        public void close() {
            trial.close();
        }
    }

    private static void lastLayersTravelWhileFirstOnesAreComputed(Communicator comm) {
        try (Watched watched = new Watched(comm, builder -> builder.overlap(true))) {
            for (int step = 0; step < STEPS; step++) {
                watched.step(comm, step);
                assertLastLayersTravelledFirst(watched);
            }
            Overlap overlap = watched.trial.optimizer().overlap();
            assertThat(overlap.isUsed()).isTrue();
            assertThat(overlap.timing().launchedByPasses()).isEqualTo(STEPS * 6);
            assertThat(overlap.timing().launchedBySteps()).isZero();
        }
    }

    private static void assertLastLayersTravelledFirst(Watched watched) {
        assertThat(watched.launches).hasSize(6).allMatch(Launch::insideBackward);
        Launch first = watched.launches.getFirst();
        assertThat(first.name()).startsWith("gradient.05Linear");
        assertThat(first.firstLayerIsDone()).isFalse();
        Launch last = watched.launches.getLast();
        assertThat(last.name()).startsWith("gradient.01Linear");
    }

    /// After the first step gradients live in the ranks' common memory, in the reverse order of
    /// layers.
    private static void nothingIsCopied(Communicator comm) {
        try (Watched watched = new Watched(comm, builder -> builder.overlap(true))) {
            watched.step(comm, 0);
            EngineAccess access = EngineAccess.of(watched.trial.model.getNDManager());
            Map<String, Long> homes = new HashMap<>();
            for (String name : watched.trial.names()) {
                homes.put("gradient." + name, address(access, watched.trial, name));
            }
            MemorySegment block = watched.recording.allocated.getFirst().segment();
            assertThat(watched.recording.allocated).hasSize(1);
            assertThat(homes.values())
                    .allMatch(
                            address ->
                                    address >= block.address()
                                            && address < block.address() + block.byteSize());
            assertThat(homes.get("gradient.05Linear_weight"))
                    .isLessThan(homes.get("gradient.01Linear_weight"));
            int arrays = watched.trial.arrayCount();
            for (int step = 1; step < 4; step++) {
                System.gc();
                watched.step(comm, step);
                assertThat(watched.addresses).isEqualTo(homes);
            }
            assertThat(watched.trial.arrayCount()).isEqualTo(arrays);
            Trial.assertSameOnAllRanks(comm, watched.trial.weights());
        }
    }

    private static long address(EngineAccess access, Trial trial, String name) {
        try (NDArray gradient = trial.parameter(name).getArray().getGradient()) {
            return access.memory(gradient).orElseThrow().address();
        }
    }

    private static void withoutHooksTheStepLaunchesEverything(Communicator comm) {
        try (Watched watched = new Watched(comm, builder -> builder.overlap(false))) {
            watched.step(comm, 0);
            watched.step(comm, 1);
            assertThat(watched.launches).hasSize(6).noneMatch(Launch::insideBackward);
            assertThat(watched.launches.getFirst().name()).startsWith("gradient.05Linear");
            assertThat(watched.trial.optimizer().overlap())
                    .matches(overlap -> !overlap.isUsed())
                    .matches(overlap -> overlap.reason().contains("overlap(false)"));
        }
    }

    private static void byDefaultStepsLaunch(Communicator comm) {
        try (Watched watched = new Watched(comm, builder -> builder)) {
            for (int step = 0; step < STEPS; step++) {
                watched.step(comm, step);
                assertThat(watched.launches).hasSize(6).noneMatch(Launch::insideBackward);
                assertThat(watched.launches.getFirst().name()).startsWith("gradient.05Linear");
            }
            int processors = Runtime.getRuntime().availableProcessors();
            Overlap overlap = watched.trial.optimizer().overlap();
            assertThat(overlap.isUsed()).isFalse();
            assertThat(overlap.reason())
                    .startsWith("every processor of this host computes: 2 ranks of " + processors)
                    .endsWith("; overlap(true) insists");
            assertThat(overlap.timing().launchedByPasses()).isZero();
            assertThat(overlap.timing().launchedBySteps()).isEqualTo(STEPS * 6);
            Trial.assertSameOnAllRanks(comm, watched.trial.weights());
        }
    }

    /// Or a program would be right on a host with many processors and wrong on one with few.
    private static void passesAreCountedAllTheSame(Communicator comm) {
        try (Watched watched = new Watched(comm, builder -> builder.backwardPassesPerStep(2))) {
            float[] before = watched.trial.weights();
            for (int window = 1; window <= 2; window++) {
                int from = 2 * (2 * window + comm.rank()) * BATCH;
                watched.trial.pass(from, from + BATCH);
                watched.trial.pass(from + BATCH, from + 2 * BATCH);
                watched.trial.step();
                assertThat(watched.trial.weights()).isNotEqualTo(before);
                before = watched.trial.weights();
            }
            assertThat(watched.trial.optimizer().overlap().timing().steps()).isEqualTo(2);
        }
    }

    /// @param spare what each of the ranks finds
    private static void learnsByDefaultWhatOneProcessLearns(Launcher launcher, SpareTime spare) {
        List<float[]> weights =
                launcher.run(
                        comm -> {
                            assertThat(SpareTime.of(comm.processSet(), Device.cpu()))
                                    .isEqualTo(spare);
                            return afterTheFirstStepPassesLaunch(comm);
                        });
        assertThat(weights.get(1)).containsExactly(weights.get(0));
        assertThat(weights.get(0)).containsExactly(weightsOfOneProcess(2), Offset.offset(1e-4f));
    }

    /// Plain DJL, on what so many ranks get together.
    private static float[] weightsOfOneProcess(int ranks) {
        try (Trial trial = new Trial(Trial.network(), _ -> Trial.sgd(), Trial.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                trial.pass(step * ranks * BATCH, (step + 1) * ranks * BATCH);
                trial.step();
            }
            return trial.weights();
        }
    }

    /// With the first one the ranks have agreed to.
    ///
    /// @return the weights after all steps
    private static float[] afterTheFirstStepPassesLaunch(Communicator comm) {
        try (Watched watched = new Watched(comm, builder -> builder)) {
            assertThat(watched.trial.optimizer().overlap().reason()).contains("in the first step");
            watched.step(comm, 0);
            assertThat(watched.launches).hasSize(6).noneMatch(Launch::insideBackward);
            for (int step = 1; step < STEPS; step++) {
                watched.step(comm, step);
                assertLastLayersTravelledFirst(watched);
            }
            Overlap overlap = watched.trial.optimizer().overlap();
            assertThat(overlap.isUsed()).isTrue();
            assertThat(overlap.reason()).isEmpty();
            assertThat(overlap.timing().launchedByPasses()).isEqualTo((STEPS - 1) * 6);
            assertThat(overlap.timing().launchedBySteps()).isEqualTo(6);
            return watched.trial.weights();
        }
    }

    private static void theOptionIsTheReason(
            Communicator comm, UnaryOperator<DistributedOptimizer.Builder> settings) {
        try (Watched watched = new Watched(comm, settings)) {
            watched.step(comm, 0);
            watched.step(comm, 1);
            assertThat(watched.launches).hasSize(6).noneMatch(Launch::insideBackward);
            assertThat(watched.trial.optimizer().overlap())
                    .matches(overlap -> !overlap.isUsed())
                    .matches(overlap -> overlap.reason().contains("HOROVOD_GRADIENT_HOOKS"));
        }
    }
}
