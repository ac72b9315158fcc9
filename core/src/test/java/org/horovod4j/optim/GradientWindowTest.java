package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.optim.ToyReducers.LENGTH;
import static org.horovod4j.optim.ToyReducers.all;
import static org.horovod4j.optim.ToyReducers.reducer;
import static org.horovod4j.optim.ToyReducers.settings;

import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Which backward passes make a step, and that no window leaves anything to the next.
class GradientWindowTest {
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void accumulatesOverAWindow(boolean average) {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a");
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    toy,
                                    settings()
                                            .backwardPassesPerStep(3)
                                            .averageAccumulated(average));
                    for (int step = 0; step < 2; step++) {
                        for (int pass = 1; pass <= 3; pass++) {
                            assertThat(toy.lent).isEmpty();
                            assertThat(reducer.isComplete()).isFalse();
                            toy.add("a", comm.rank() + 1);
                            reducer.ready(0);
                        }
                        assertThat(toy.lent).containsExactly("a");
                        reducer.synchronize();
                        assertThat(toy.gradient("a")).containsExactly(all(average ? 1.5 : 4.5));
                        toy.clear();
                    }
                });
    }

    @Test
    void anInfiniteGradientDoesNotReachTheNextWindow() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a");
                    GradientReducer reducer =
                            reducer(comm, toy, settings().compressor(Compression.FP16));
                    toy.add("a", comm.rank() == 0 ? Float.POSITIVE_INFINITY : 1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(toy.gradient("a")).containsExactly(all(Float.POSITIVE_INFINITY));
                    toy.clear();
                    toy.add("a", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(toy.gradient("a")).containsExactly(all(0.5));
                });
    }

    @Test
    void aWindowMayBeClosedEarly() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a");
                    GradientReducer reducer =
                            reducer(comm, toy, settings().backwardPassesPerStep(5));
                    toy.add("a", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(toy.gradient("a")).containsExactly(all(0.5));
                });
    }

    @Test
    void tooManyPassesAreToldWhenTheStepComes() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "conv.weight");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    reducer.ready(0);
                    reducer.ready(0);
                    assertThatThrownBy(reducer::synchronize)
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("'conv.weight' was computed 2 times")
                            .hasMessageContaining("backwardPassesPerStep");
                    // and the step after is as good as new
                    toy.clear();
                    toy.add("conv.weight", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(toy.gradient("conv.weight")).containsExactly(all(0.5));
                });
    }

    @Test
    void windowsChangeTheirLengthBetweenStepsOnly() {
        World.run(
                1,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a");
                    GradientReducer reducer = reducer(comm, toy, settings());
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
                    Toy toy = new Toy(LENGTH, "left", "right");
                    GradientReducer reducer =
                            reducer(comm, toy, settings().backwardPassesPerStep(2));
                    for (int window = 0; window < 2; window++) {
                        for (int pass = 0; pass < 2; pass++) {
                            assertThat(reducer.isComplete()).isFalse();
                            // rank 0 goes left twice, rank 1 each way once
                            int branch = comm.rank() == 0 ? 0 : pass;
                            toy.add(toy.names().get(branch), 1);
                            reducer.ready(branch);
                            reducer.stepped();
                        }
                        assertThat(reducer.isComplete()).isTrue();
                        reducer.synchronize();
                        assertThat(toy.gradient("left")).containsExactly(all(1.5));
                        assertThat(toy.gradient("right")).containsExactly(all(0.5));
                        toy.clear();
                    }
                });
    }

    @Test
    void anAbandonedWindowLeavesNothingUnderWay() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    toy.add("a", 1);
                    // each rank has launched what the other has not
                    reducer.ready(comm.rank());
                    assertThat(reducer.abandon()).isEmpty();
                    assertThat(reducer.passes()).isZero();
                    toy.clear();
                    toy.add("a", comm.rank());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(toy.lent).containsExactly("a", "b");
                    assertThat(toy.gradient("a")).containsExactly(all(0.5));
                });
    }
}
