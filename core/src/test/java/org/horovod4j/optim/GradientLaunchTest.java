package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.optim.ReducerFixtures.LENGTH;
import static org.horovod4j.optim.ReducerFixtures.filled;
import static org.horovod4j.optim.ReducerFixtures.reducer;
import static org.horovod4j.optim.ReducerFixtures.settings;

import org.horovod4j.Compressor;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/// When each gradient is launched, and with which others.
class GradientLaunchTest {
    @Test
    void launchesInTheOrderInWhichGradientsBecomeReady() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b", "c");
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    // in a different order on each rank
                    int first = comm.rank() == 0 ? 2 : 1;
                    int second = comm.rank() == 0 ? 1 : 2;
                    reducer.ready(first);
                    assertThat(fakeGradients.acquired)
                            .containsExactly(fakeGradients.names().get(first));
                    reducer.ready(second);
                    reducer.synchronize();
                    assertThat(fakeGradients.acquired)
                            .containsExactly(
                                    fakeGradients.names().get(first),
                                    fakeGradients.names().get(second),
                                    "a");
                    assertThat(reducer.timing().launchedByPasses()).isEqualTo(2);
                    assertThat(reducer.timing().launchedBySteps()).isEqualTo(1);
                });
    }

    @Test
    void backwardPassCompletedLaunchesInReverseOrder() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b", "c");
                    fakeGradients.freeze("b", true);
                    GradientReducer reducer =
                            reducer(comm, fakeGradients, settings().backwardPassesPerStep(2));
                    reducer.backwardPassCompleted();
                    assertThat(fakeGradients.acquired).isEmpty();
                    reducer.backwardPassCompleted();
                    assertThat(fakeGradients.acquired).containsExactly("c", "a");
                    reducer.synchronize();
                    assertThat(reducer.timing().launchedByPasses()).isZero();
                    assertThat(reducer.timing().launchedBySteps()).isEqualTo(2);
                });
    }

    @Test
    void stepLaunchesInReverseOrderWhenBackwardPassesLaunchNothing() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b", "c");
                    fakeGradients.allowAcquireDuringBackward(false);
                    GradientReducer reducer = reducer(comm, fakeGradients, settings());
                    for (int parameter : new int[] {1, 2, 0}) {
                        reducer.ready(parameter);
                    }
                    assertThat(fakeGradients.acquired).isEmpty();
                    assertThat(reducer.isComplete()).isTrue();
                    reducer.synchronize();
                    assertThat(fakeGradients.acquired).containsExactly("c", "b", "a");
                    assertThat(reducer.timing().launchedByPasses()).isZero();
                    assertThat(reducer.timing().launchedBySteps()).isEqualTo(3);
                    // in the next window they do
                    fakeGradients.allowAcquireDuringBackward(true);
                    fakeGradients.clear();
                    reducer.ready(1);
                    assertThat(fakeGradients.acquired).containsExactly("b");
                    reducer.synchronize();
                });
    }

    @Test
    void groupIsLaunchedWhenAllMembersAreReady() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b", "c", "d");
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    fakeGradients,
                                    settings()
                                            .groups(
                                                    new GradientGroups.Named(
                                                            List.of(List.of("b", "d")))));
                    fakeGradients.names().forEach(name -> fakeGradients.add(name, comm.rank()));
                    reducer.ready(3);
                    assertThat(fakeGradients.acquired).isEmpty();
                    reducer.ready(2);
                    assertThat(fakeGradients.acquired).containsExactly("c");
                    reducer.ready(1);
                    assertThat(fakeGradients.acquired).containsExactly("c", "b", "d");
                    reducer.ready(0);
                    reducer.synchronize();
                    for (String name : fakeGradients.names()) {
                        assertThat(fakeGradients.gradient(name)).containsExactly(filled(0.5));
                    }
                });
    }

    @Test
    void groupDoesNotWaitForFrozenMembers() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b", "c");
                    GradientReducer reducer =
                            reducer(
                                    comm,
                                    fakeGradients,
                                    settings().groups(new GradientGroups.Count(1)));
                    fakeGradients.freeze("b", true);
                    fakeGradients.add("a", comm.rank());
                    fakeGradients.add("c", comm.rank());
                    reducer.ready(2);
                    reducer.ready(0);
                    assertThat(fakeGradients.acquired).containsExactly("a", "c");
                    reducer.synchronize();
                    assertThat(fakeGradients.gradient("a")).containsExactly(filled(0.5));
                    assertThat(fakeGradients.gradient("c")).containsExactly(filled(0.5));
                });
    }

    @Test
    void compressorReceivesParameterNameInsideGroups() {
        World.run(
                2,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(LENGTH, "a", "b", "c");
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
                                    fakeGradients,
                                    settings()
                                            .groups(new GradientGroups.Count(1))
                                            .compressor(compressor));
                    fakeGradients.freeze("a", true);
                    reducer.synchronize();
                    fakeGradients.freeze("a", false);
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
