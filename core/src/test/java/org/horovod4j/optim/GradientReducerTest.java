package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

class GradientReducerTest {
    private static final int LENGTH = 7;

    private static GradientReducer reducer(
            Communicator comm, Toy toy, GradientSettings.Builder settings) {
        return new GradientReducer(comm.processSet(), toy, settings.build());
    }

    private static GradientSettings.Builder settings() {
        return GradientSettings.builder();
    }

    private static float[] all(double value) {
        float[] values = new float[LENGTH];
        Arrays.fill(values, (float) value);
        return values;
    }

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

    @Test
    void launchesInTheOrderInWhichGradientsBecomeReady() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b", "c");
                    GradientReducer reducer = reducer(comm, toy, settings());
                    // each rank in its own order
                    int first = comm.rank() == 0 ? 2 : 1;
                    int second = comm.rank() == 0 ? 1 : 2;
                    reducer.ready(first);
                    assertThat(toy.lent).containsExactly(toy.names().get(first));
                    reducer.ready(second);
                    reducer.synchronize();
                    assertThat(toy.lent)
                            .containsExactly(toy.names().get(first), toy.names().get(second), "a");
                    assertThat(reducer.timing().launchedByPasses()).isEqualTo(2);
                    assertThat(reducer.timing().launchedBySteps()).isEqualTo(1);
                });
    }

    @Test
    void withoutWordOfSingleGradientsAPassLaunchesTheLastOnesFirst() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b", "c");
                    toy.freeze("b", true);
                    GradientReducer reducer =
                            reducer(comm, toy, settings().backwardPassesPerStep(2));
                    reducer.passed();
                    assertThat(toy.lent).isEmpty();
                    reducer.passed();
                    assertThat(toy.lent).containsExactly("c", "a");
                    reducer.synchronize();
                    assertThat(reducer.timing().launchedByPasses()).isZero();
                    assertThat(reducer.timing().launchedBySteps()).isEqualTo(2);
                });
    }

    @Test
    void wherePassesLaunchNothingAStepLaunchesTheLastOnesFirst() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b", "c");
                    toy.lendDuringPasses(false);
                    GradientReducer reducer = reducer(comm, toy, settings());
                    for (int parameter : new int[] {1, 2, 0}) {
                        reducer.ready(parameter);
                    }
                    assertThat(toy.lent).isEmpty();
                    assertThat(reducer.isComplete()).isTrue();
                    reducer.synchronize();
                    assertThat(toy.lent).containsExactly("c", "b", "a");
                    assertThat(reducer.timing().launchedByPasses()).isZero();
                    assertThat(reducer.timing().launchedBySteps()).isEqualTo(3);
                    // and from the next window on they do
                    toy.lendDuringPasses(true);
                    toy.clear();
                    reducer.ready(1);
                    assertThat(toy.lent).containsExactly("b");
                    reducer.synchronize();
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

    @Test
    void aCompressorKnowsAGradientByItsOwnNameInAnyGroup() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b", "c");
                    List<String> compressed = new ArrayList<>();
                    Compressor compressor =
                            (communicator, name, tensor, op) -> {
                                compressed.add(name);
                                return Compression.NONE.allreduceAsync(
                                        communicator, name, tensor, op);
                            };
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    toy,
                                    settings().groups(new Groups.Count(1)).compressor(compressor));
                    toy.freeze("a", true);
                    reducer.synchronize();
                    toy.freeze("a", false);
                    reducer.synchronize();
                    assertThat(compressed)
                            .containsExactly(
                                    "gradient.b",
                                    "gradient.c",
                                    "gradient.a",
                                    "gradient.b",
                                    "gradient.c");
                });
    }

    @Test
    void aGroupIsLaunchedWhenAllItsMembersAreReady() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b", "c", "d");
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    toy,
                                    settings()
                                            .groups(new Groups.Named(List.of(List.of("b", "d")))));
                    toy.names().forEach(name -> toy.add(name, comm.rank()));
                    reducer.ready(3);
                    assertThat(toy.lent).isEmpty();
                    reducer.ready(2);
                    assertThat(toy.lent).containsExactly("c");
                    reducer.ready(1);
                    assertThat(toy.lent).containsExactly("c", "b", "d");
                    reducer.ready(0);
                    reducer.synchronize();
                    for (String name : toy.names()) {
                        assertThat(toy.gradient(name)).containsExactly(all(0.5));
                    }
                });
    }

    @Test
    void aGroupDoesNotWaitForFrozenMembers() {
        World.run(
                2,
                comm -> {
                    Toy toy = new Toy(LENGTH, "a", "b", "c");
                    GradientReducer reducer =
                            reducer(comm, toy, settings().groups(new Groups.Count(1)));
                    toy.freeze("b", true);
                    toy.add("a", comm.rank());
                    toy.add("c", comm.rank());
                    reducer.ready(2);
                    reducer.ready(0);
                    assertThat(toy.lent).containsExactly("a", "c");
                    reducer.synchronize();
                    assertThat(toy.gradient("a")).containsExactly(all(0.5));
                    assertThat(toy.gradient("c")).containsExactly(all(0.5));
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
