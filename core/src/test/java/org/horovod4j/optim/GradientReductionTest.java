package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.optim.ReducerFixtures.LENGTH;
import static org.horovod4j.optim.ReducerFixtures.filled;
import static org.horovod4j.optim.ReducerFixtures.reducer;
import static org.horovod4j.optim.ReducerFixtures.settings;

import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// The reduced gradients on all ranks.
class GradientReductionTest {
    /// The mean of 1, 2, … over the ranks.
    private static double meanOfRanks(int size) {
        return (size + 1) / 2.0;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void gradientsAreAveragedOverRanks(int size) {
        World.run(
                size,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    for (int step = 1; step <= 3; step++) {
                        fakeGradients.add("b", 10 * (comm.rank() + 1) * step);
                        reducer.ready(1);
                        fakeGradients.add("a", (comm.rank() + 1) * step);
                        reducer.ready(0);
                        assertThat(reducer.isComplete()).isTrue();
                        reducer.synchronize();
                        assertThat(reducer.passes()).isZero();
                        assertThat(fakeGradients.gradient("a"))
                                .containsExactly(filled(meanOfRanks(size) * step));
                        assertThat(fakeGradients.gradient("b"))
                                .containsExactly(filled(10 * meanOfRanks(size) * step));
                        fakeGradients.clear();
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void rankWithUnusedParameterContributesZeros(int size) {
        World.run(
                size,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "left", "right");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    String branch = comm.rank() == 0 ? "left" : "right";
                    fakeGradients.add(branch, 1);
                    reducer.ready(fakeGradients.names().indexOf(branch));
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("left")).containsExactly(filled(1.0 / size));
                    assertThat(fakeGradients.gradient("right"))
                            .containsExactly(filled((size - 1.0) / size));
                });
    }

    @Test
    void frozenParametersAreNotReducedUntilUnfrozen() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients =
                            new FakeGradients(LENGTH, "generator", "discriminator");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    for (int step = 0; step < 4; step++) {
                        String trained = fakeGradients.names().get(step % 2);
                        String other = fakeGradients.names().get(1 - step % 2);
                        fakeGradients.freeze(trained, false);
                        fakeGradients.freeze(other, true);
                        fakeGradients.add(trained, comm.rank());
                        reducer.ready(step % 2);
                        reducer.synchronize();
                        assertThat(fakeGradients.acquired).containsExactly(trained);
                        assertThat(fakeGradients.gradient(trained)).containsExactly(filled(0.5));
                        fakeGradients.clear();
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void predividesWithAndWithoutCompression(boolean compressed) {
        World.run(
                3,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b");
                    // would overflow float16 if it were not divided before the sum
                    fakeGradients.add("a", 60_000);
                    fakeGradients.add("b", 60_000);
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    fakeGradients,
                                    settings()
                                            .groups(new GradientGroups.Count(1))
                                            .compressor(
                                                    compressed
                                                            ? Compression.FP16
                                                            : Compression.NONE)
                                            .predivideFactor(8));
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("a")).containsExactly(filled(60_000));
                    assertThat(fakeGradients.gradient("b")).containsExactly(filled(60_000));
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void localParametersAreNotReduced(boolean scaled) {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "shared", "local");
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    fakeGradients,
                                    settings().local("local"::equals).scaleLocalGradients(scaled));
                    fakeGradients.add("shared", comm.rank() + 1);
                    fakeGradients.add("local", comm.rank() + 1);
                    reducer.ready(1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(reducer.isLocal(1)).isTrue();
                    assertThat(fakeGradients.gradient("shared")).containsExactly(filled(1.5));
                    assertThat(fakeGradients.gradient("local"))
                            .containsExactly(filled((comm.rank() + 1) / (scaled ? 2.0 : 1.0)));
                });
    }

    @Test
    void ranksOutsideTheProcessSetKeepTheirGradients() {
        World.run(
                3,
                comm -> {
                    ProcessSet pair = comm.addProcessSet(0, 2);
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a");
                    fakeGradients.add("a", comm.rank());
                    GradientReducer reducer =
                            new GradientReducer(pair, fakeGradients, GradientSettings.DEFAULT);
                    assertThat(reducer.isSingleRank()).isEqualTo(comm.rank() == 1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("a")).containsExactly(filled(1));
                });
    }

    @Test
    void singleRankAcquiresNoGradients() {
        World.run(
                1,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(fakeGradients.acquired).isEmpty();
                });
    }

    @Test
    void adasumCombinesAcquiredTensors() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(2, "delta");
                    // orthogonal gradients: their sum
                    fakeGradients.gradient("delta")[comm.rank()] = comm.rank() + 3;
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().op(ReduceOp.ADASUM));
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("delta")).containsExactly(3, 4);
                });
    }

    @Test
    void joinedRanksContributeNothing() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a");
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().op(ReduceOp.SUM));
                    for (int step = 0; step <= comm.rank(); step++) {
                        fakeGradients.clear();
                        fakeGradients.add("a", 1);
                        reducer.ready(0);
                        reducer.synchronize();
                        assertThat(fakeGradients.gradient("a")).containsExactly(filled(2 - step));
                    }
                    comm.join();
                });
    }

    @Test
    void mismatchFailsTheStepAndTheNextStepSucceeds() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH + comm.rank(), "a");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    reducer.ready(0);
                    assertThatThrownBy(reducer::synchronize).hasMessageContaining("gradient.a");
                    Tensor other = Tensor.of(new float[] {comm.rank()});
                    comm.allreduce("other", other, ReduceOp.SUM);
                    assertThat(other.toFloatArray()).containsExactly(1);
                    assertThat(reducer.passes()).isZero();
                });
    }
}
