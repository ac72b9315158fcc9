package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.optim.ReducerFixtures.LENGTH;
import static org.horovod4j.optim.ReducerFixtures.filled;
import static org.horovod4j.optim.ReducerFixtures.reducer;
import static org.horovod4j.optim.ReducerFixtures.settings;

import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Backward passes of a step. A window does not affect the next one.
class GradientWindowTest {
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void accumulatesOverAWindow(boolean average) {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a");
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    fakeGradients,
                                    settings()
                                            .backwardPassesPerStep(3)
                                            .averageAccumulated(average));
                    for (int step = 0; step < 2; step++) {
                        for (int pass = 1; pass <= 3; pass++) {
                            assertThat(fakeGradients.acquired).isEmpty();
                            assertThat(reducer.isComplete()).isFalse();
                            fakeGradients.add("a", comm.rank() + 1);
                            reducer.ready(0);
                        }
                        assertThat(fakeGradients.acquired).containsExactly("a");
                        reducer.synchronize();
                        assertThat(fakeGradients.gradient("a"))
                                .containsExactly(filled(average ? 1.5 : 4.5));
                        fakeGradients.clear();
                    }
                });
    }

    @Test
    void infiniteGradientDoesNotAffectNextWindow() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a");
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().compressor(Compression.FP16));
                    fakeGradients.add("a", comm.rank() == 0 ? Float.POSITIVE_INFINITY : 1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("a"))
                            .containsExactly(filled(Float.POSITIVE_INFINITY));
                    fakeGradients.clear();
                    fakeGradients.add("a", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("a")).containsExactly(filled(0.5));
                });
    }

    @Test
    void windowCanBeSynchronizedEarly() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a");
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().backwardPassesPerStep(5));
                    fakeGradients.add("a", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("a")).containsExactly(filled(0.5));
                });
    }

    @Test
    void tooManyBackwardPassesFailAtSynchronize() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "conv.weight");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    reducer.ready(0);
                    reducer.ready(0);
                    assertThatThrownBy(reducer::synchronize)
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("'conv.weight' was computed 2 times")
                            .hasMessageContaining("backwardPassesPerStep");
                    // the next step is correct
                    fakeGradients.clear();
                    fakeGradients.add("conv.weight", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("conv.weight")).containsExactly(filled(0.5));
                });
    }

    @Test
    void backwardPassesPerStepChangesOnlyBetweenWindows() {
        World.run(
                1,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    reducer.backwardPassesPerStep(2);
                    reducer.ready(0);
                    assertThat(reducer.isComplete()).isFalse();
                    assertThatThrownBy(() -> reducer.backwardPassesPerStep(3))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("1 of 2 backward passes");
                    reducer.synchronize();
                    reducer.backwardPassesPerStep(3);
                    reducer.ready(0);
                    reducer.ready(0);
                    assertThat(reducer.isComplete()).isFalse();
                    reducer.ready(0);
                    assertThat(reducer.isComplete()).isTrue();
                });
    }

    @Test
    void stepsCompleteAWindowWhereNoParameterIsInEveryPass() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "left", "right");
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().backwardPassesPerStep(2));
                    for (int window = 0; window < 2; window++) {
                        for (int pass = 0; pass < 2; pass++) {
                            assertThat(reducer.isComplete()).isFalse();
                            // rank 0 takes the left branch twice, rank 1 each branch once
                            int branch = comm.rank() == 0 ? 0 : pass;
                            fakeGradients.add(fakeGradients.names().get(branch), 1);
                            reducer.ready(branch);
                            reducer.stepRequested();
                        }
                        assertThat(reducer.isComplete()).isTrue();
                        reducer.synchronize();
                        assertThat(fakeGradients.gradient("left")).containsExactly(filled(1.5));
                        assertThat(fakeGradients.gradient("right")).containsExactly(filled(0.5));
                        fakeGradients.clear();
                    }
                });
    }

    @Test
    void discardedWindowLeavesNothingInFlight() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    fakeGradients.add("a", 1);
                    // each rank has launched a gradient that the other has not
                    reducer.ready(comm.rank());
                    assertThat(reducer.discard()).isEmpty();
                    assertThat(reducer.passes()).isZero();
                    fakeGradients.clear();
                    fakeGradients.add("a", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(fakeGradients.acquired).containsExactly("a", "b");
                    assertThat(fakeGradients.gradient("a")).containsExactly(filled(0.5));
                });
    }
}
