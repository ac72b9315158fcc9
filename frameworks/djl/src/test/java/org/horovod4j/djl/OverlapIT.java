package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Communicator;
import org.horovod4j.djl.engine.EngineAccess;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Gradients travel while backward computes others, and from where it has put them.
class OverlapIT {
    private static final int BATCH = 4;
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

        Watched(Communicator comm, boolean overlap) {
            recording = new RecordingCommunicator(comm, this::submitted);
            trial =
                    new Trial(
                            Trial.network(),
                            block ->
                                    DistributedOptimizer.wrap(Trial.sgd(), block)
                                            .communicator(recording.communicator())
                                            .overlap(overlap)
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
        try (Watched watched = new Watched(comm, true)) {
            for (int step = 0; step < 3; step++) {
                watched.step(comm, step);
                assertThat(watched.launches).hasSize(6).allMatch(Launch::insideBackward);
                Launch first = watched.launches.getFirst();
                assertThat(first.name()).startsWith("gradient.05Linear");
                assertThat(first.firstLayerIsDone()).isFalse();
                Launch last = watched.launches.getLast();
                assertThat(last.name()).startsWith("gradient.01Linear");
            }
            Overlap overlap = watched.trial.optimizer().overlap();
            assertThat(overlap.isUsed()).isTrue();
            assertThat(overlap.timing().launchedByPasses()).isEqualTo(3 * 6);
            assertThat(overlap.timing().launchedBySteps()).isZero();
        }
    }

    /// After the first step gradients live in the ranks' common memory, in the reverse order of
    /// layers.
    private static void nothingIsCopied(Communicator comm) {
        try (Watched watched = new Watched(comm, true)) {
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
        try (Watched watched = new Watched(comm, false)) {
            watched.step(comm, 0);
            watched.step(comm, 1);
            assertThat(watched.launches).hasSize(6).noneMatch(Launch::insideBackward);
            assertThat(watched.launches.getFirst().name()).startsWith("gradient.05Linear");
            assertThat(watched.trial.optimizer().overlap())
                    .matches(overlap -> !overlap.isUsed())
                    .matches(overlap -> overlap.reason().contains("overlap(false)"));
        }
    }
}
