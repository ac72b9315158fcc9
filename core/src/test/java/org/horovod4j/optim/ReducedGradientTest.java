package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.optim.ToyReducers.LENGTH;
import static org.horovod4j.optim.ToyReducers.all;
import static org.horovod4j.optim.ToyReducers.reducer;
import static org.horovod4j.optim.ToyReducers.settings;

import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// What every rank ends with, whoever brings what.
class ReducedGradientTest {
    /// The mean of 1, 2, … over the ranks.
    private static double meanOfRanks(int size) {
        return (size + 1) / 2.0;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void averagesWhatTheRanksComputed(int size) {
        World.run(
                size,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    for (int step = 1; step <= 3; step++) {
                        toy.add("b", 10 * (comm.rank() + 1) * step);
                        reducer.ready(1);
                        toy.add("a", (comm.rank() + 1) * step);
                        reducer.ready(0);
                        assertThat(reducer.isComplete()).isTrue();
                        reducer.synchronize();
                        assertThat(reducer.passes()).isZero();
                        assertThat(toy.gradient("a"))
                                .containsExactly(all(meanOfRanks(size) * step));
                        assertThat(toy.gradient("b"))
                                .containsExactly(all(10 * meanOfRanks(size) * step));
                        toy.clear();
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void aRankThatDidNotUseAParameterSendsZeros(int size) {
        World.run(
                size,
                comm -> {
                    Toy toy = new Toy(LENGTH, "left", "right");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    String branch = comm.rank() == 0 ? "left" : "right";
                    toy.add(branch, 1);
                    reducer.ready(toy.names().indexOf(branch));
                    reducer.synchronize();
                    assertThat(toy.gradient("left")).containsExactly(all(1.0 / size));
                    assertThat(toy.gradient("right")).containsExactly(all((size - 1.0) / size));
                });
    }

    @Test
    void frozenParametersTakeNoPartUntilTheyThaw() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "generator", "discriminator");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    for (int step = 0; step < 4; step++) {
                        String trained = toy.names().get(step % 2);
                        String other = toy.names().get(1 - step % 2);
                        toy.freeze(trained, false);
                        toy.freeze(other, true);
                        toy.add(trained, comm.rank());
                        reducer.ready(step % 2);
                        reducer.synchronize();
                        assertThat(toy.lent).containsExactly(trained);
                        assertThat(toy.gradient(trained)).containsExactly(all(0.5));
                        toy.clear();
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void predividesWithAndWithoutCompression(boolean compressed) {
        World.run(
                3,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b");
                    // would overflow float16 if it were not divided before the sum
                    toy.add("a", 60_000);
                    toy.add("b", 60_000);
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    toy,
                                    settings()
                                            .groups(new Groups.Count(1))
                                            .compressor(
                                                    compressed
                                                            ? Compression.FP16
                                                            : Compression.NONE)
                                            .predivideFactor(8));
                    reducer.synchronize();
                    assertThat(toy.gradient("a")).containsExactly(all(60_000));
                    assertThat(toy.gradient("b")).containsExactly(all(60_000));
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void localParametersStayWithTheirRank(boolean scaled) {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "shared", "local");
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    toy,
                                    settings().local("local"::equals).scaleLocalGradients(scaled));
                    toy.add("shared", comm.rank() + 1);
                    toy.add("local", comm.rank() + 1);
                    reducer.ready(1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(reducer.isLocal(1)).isTrue();
                    assertThat(toy.gradient("shared")).containsExactly(all(1.5));
                    assertThat(toy.gradient("local"))
                            .containsExactly(all((comm.rank() + 1) / (scaled ? 2.0 : 1.0)));
                });
    }

    @Test
    void ranksOutsideTheProcessSetKeepTheirGradients() {
        World.run(
                3,
                comm -> {
                    ProcessSet pair = comm.addProcessSet(0, 2);
                    Toy toy = new Toy(LENGTH, "a");
                    toy.add("a", comm.rank());
                    GradientReducer reducer =
                            new GradientReducer(pair, toy, GradientSettings.DEFAULT);
                    assertThat(reducer.isAlone()).isEqualTo(comm.rank() == 1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(toy.gradient("a")).containsExactly(all(1));
                });
    }

    @Test
    void aloneNothingIsLentAtAll() {
        World.run(
                1,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(toy.lent).isEmpty();
                });
    }

    @Test
    void adasumCombinesWhatIsLent() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(2, "delta");
                    // at right angles: their sum
                    toy.gradient("delta")[comm.rank()] = comm.rank() + 3;
                    GradientReducer reducer = reducer(comm, toy, settings().op(ReduceOp.ADASUM));
                    reducer.synchronize();
                    assertThat(toy.gradient("delta")).containsExactly(3, 4);
                });
    }

    @Test
    void joinedRanksTakePartWithNothing() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a");
                    GradientReducer reducer = reducer(comm, toy, settings().op(ReduceOp.SUM));
                    for (int step = 0; step <= comm.rank(); step++) {
                        toy.clear();
                        toy.add("a", 1);
                        reducer.ready(0);
                        reducer.synchronize();
                        assertThat(toy.gradient("a")).containsExactly(all(2 - step));
                    }
                    comm.join();
                });
    }

    @Test
    void aDisagreementFailsTheStepAndTheNextOneWorks() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH + comm.rank(), "a");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    reducer.ready(0);
                    assertThatThrownBy(reducer::synchronize).hasMessageContaining("gradient.a");
                    Tensor other = Tensor.of(new float[] {comm.rank()});
                    comm.allreduce("other", other, ReduceOp.SUM);
                    assertThat(other.toFloatArray()).containsExactly(1);
                    assertThat(reducer.passes()).isZero();
                });
    }
}
