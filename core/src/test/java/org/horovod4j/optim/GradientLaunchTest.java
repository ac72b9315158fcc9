package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.optim.ToyReducers.LENGTH;
import static org.horovod4j.optim.ToyReducers.all;
import static org.horovod4j.optim.ToyReducers.reducer;
import static org.horovod4j.optim.ToyReducers.settings;

import org.horovod4j.Compressor;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/// When each gradient begins to travel, and with which others.
class GradientLaunchTest {
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
}
