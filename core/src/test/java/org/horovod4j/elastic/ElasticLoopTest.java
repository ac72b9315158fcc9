package org.horovod4j.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.PeerLostException;
import org.horovod4j.Tensor;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/// Tests how the loop handles state and generations, with ranks as threads and simulated losses.
final class ElasticLoopTest {
    /// The generations of one communicator, with numbers from a simulated driver.
    private static final class FakeGenerations implements Generations {
        final List<String> events = new ArrayList<>();
        private final Communicator communicator;
        private final boolean isElastic;
        private final AtomicLong changes;
        private int next;
        private long latestHostsVersion;

        /// @param changes the host updates that the driver has seen
        FakeGenerations(Communicator communicator, boolean isElastic, AtomicLong changes) {
            this.communicator = communicator;
            this.isElastic = isElastic;
            this.changes = changes;
        }

        FakeGenerations(Communicator communicator, boolean isElastic) {
            this(communicator, isElastic, new AtomicLong());
        }

        /// Simulates that the program has entered generation 0 before, and that it has failed
        /// since.
        void skipFirstGeneration() {
            next = 1;
        }

        /// Simulates that the driver notifies only this rank of new hosts.
        void announceHostUpdate() {
            latestHostsVersion = changes.incrementAndGet();
        }

        @Override
        public Generation enter() {
            int number = next++;
            events.add("enter " + number);
            return new Generation(communicator, new FakeMembership(number), number > 0);
        }

        @Override
        public void leave() {
            events.add("leave");
        }

        @Override
        public void abort(String reason) {
            events.add("abort: " + reason);
        }

        private final class FakeMembership implements GenerationMembership {
            private final int number;
            private final long hostsVersion = changes.get();

            FakeMembership(int number) {
                this.number = number;
            }

            @Override
            public int generation() {
                return number;
            }

            @Override
            public boolean isElastic() {
                return isElastic;
            }

            @Override
            public boolean sync() {
                return number != 1;
            }

            @Override
            public long hostsVersion() {
                return hostsVersion;
            }

            @Override
            public long latestHostsVersion() {
                return latestHostsVersion;
            }

            @Override
            public void stateSynced() {
                events.add("settled in " + number);
            }
        }
    }

    private static PeerLostException loss() {
        return new PeerLostException(1, "beta", "rank 1 on beta is lost: exit code 3", null);
    }

    @Test
    void failedEnterWaitsForBackgroundCommit() {
        List<String> awaited = new ArrayList<>();
        State state =
                new State() {
                    @Override
                    protected void save() {}

                    @Override
                    public void restore() {}

                    @Override
                    public void sync(Communicator communicator, int rootRank) {}

                    @Override
                    public void awaitCommit() {
                        awaited.add("awaited");
                    }
                };
        Generations none =
                new Generations() {
                    @Override
                    public Generation enter() {
                        throw new IllegalStateException("no place");
                    }

                    @Override
                    public void leave() {}

                    @Override
                    public void abort(String reason) {}
                };
        assertThatThrownBy(
                        () -> new ElasticLoop<State, RuntimeException>(none, state, s -> {}).run())
                .hasMessage("no place");
        assertThat(awaited).containsExactly("awaited");
    }

    @Test
    void peerLossRestoresLastCommitAndHostUpdateKeepsState() {
        World.run(
                1,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true);
                    ObjectState state = new ObjectState().with("step", 0);
                    List<String> seen = new ArrayList<>();
                    state.onReset(() -> seen.add("reset"));
                    new ElasticLoop<ObjectState, RuntimeException>(
                                    generations,
                                    state,
                                    s -> {
                                        seen.add("train from " + s.getInt("step"));
                                        switch (seen.size()) {
                                            case 1 -> {
                                                s.set("step", 1);
                                                generations.announceHostUpdate();
                                                s.checkHostUpdates();
                                            }
                                            case 3 -> {
                                                s.set("step", 2);
                                                s.commit();
                                                s.set("step", 3);
                                                // as a framework would wrap it
                                                throw new IllegalStateException(loss());
                                            }
                                            default -> s.set("step", 4);
                                        }
                                    })
                            .run();
                    assertThat(seen)
                            .containsExactly(
                                    "train from 0",
                                    "reset",
                                    "train from 1",
                                    "reset",
                                    "train from 2");
                    assertThat(generations.events)
                            .containsExactly(
                                    "enter 0",
                                    "settled in 0",
                                    "leave",
                                    "enter 1",
                                    "settled in 1",
                                    "leave",
                                    "enter 2",
                                    "settled in 2");
                });
    }

    /// A worker whose sync failed has no consistent state. If it reported its state as synced,
    /// others could continue training with it.
    @Test
    void failedSyncDoesNotMarkStateSynced() {
        World.run(
                1,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true);
                    State state =
                            new ObjectState()
                                    .with(
                                            "loses its sender once",
                                            new State() {
                                                private boolean isLost;

                                                @Override
                                                protected void save() {}

                                                @Override
                                                public void restore() {}

                                                @Override
                                                public void sync(Communicator each, int rootRank) {
                                                    if (!isLost) {
                                                        isLost = true;
                                                        throw loss();
                                                    }
                                                }
                                            });
                    new ElasticLoop<State, RuntimeException>(generations, state, _ -> {}).run();
                    assertThat(generations.events)
                            .containsExactly("enter 0", "leave", "enter 1", "settled in 1");
                });
    }

    @Test
    void partsEnterGenerationOfTheirState() {
        World.run(
                1,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true);
                    TensorState part = new TensorState().with("weights", new float[1]);
                    ObjectState state = new ObjectState().with("part", part);
                    List<String> seen = new ArrayList<>();
                    state.onReset(() -> seen.add("reset"));
                    part.onReset(() -> seen.add("reset of the part"));
                    new ElasticLoop<ObjectState, RuntimeException>(
                                    generations,
                                    state,
                                    _ -> {
                                        seen.add("train");
                                        if (seen.size() == 1) {
                                            generations.announceHostUpdate();
                                            part.checkHostUpdates();
                                        }
                                    })
                            .run();
                    assertThat(seen)
                            .containsExactly("train", "reset of the part", "reset", "train");
                });
    }

    @Test
    void failedGenerationBeforeLoopTriggersReset() {
        World.run(
                1,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true);
                    generations.skipFirstGeneration();
                    ObjectState state = new ObjectState();
                    List<String> seen = new ArrayList<>();
                    state.onReset(() -> seen.add("reset"));
                    new ElasticLoop<ObjectState, RuntimeException>(
                                    generations, state, _ -> seen.add("train"))
                            .run();
                    assertThat(seen).containsExactly("reset", "train");
                });
    }

    @Test
    void programFailureIsThrownAndReportedToOtherRanks() {
        World.run(
                1,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true);
                    assertThatThrownBy(
                                    () ->
                                            new ElasticLoop<ObjectState, IOException>(
                                                            generations,
                                                            new ObjectState(),
                                                            _ -> {
                                                                throw new IOException("no data");
                                                            })
                                                    .run())
                            .isInstanceOf(IOException.class)
                            .hasMessage("no data");
                    assertThat(generations.events)
                            .containsExactly(
                                    "enter 0",
                                    "settled in 0",
                                    "abort: its program failed: java.io.IOException: no data");
                });
    }

    /// A commit may read memory that is freed when the generation ends, or memory of the program
    /// that is freed after `run`.
    @Test
    void backgroundCommitCompletesBeforeGenerationEnds() {
        World.run(
                1,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true);
                    State state =
                            new ObjectState()
                                    .with(
                                            "weights",
                                            new State() {
                                                @Override
                                                protected void save() {}

                                                @Override
                                                public void restore() {
                                                    generations.events.add("restored");
                                                }

                                                @Override
                                                public void sync(Communicator each, int rootRank) {}

                                                @Override
                                                public void awaitCommit() {
                                                    generations.events.add("awaited");
                                                }
                                            });
                    new ElasticLoop<State, RuntimeException>(
                                    generations,
                                    state,
                                    s -> {
                                        generations.events.add("train");
                                        if (generations.next == 1) {
                                            generations.announceHostUpdate();
                                            s.commit();
                                        }
                                        if (generations.next == 2) {
                                            throw loss();
                                        }
                                    })
                            .run();
                    assertThat(generations.events)
                            .containsExactly(
                                    "enter 0",
                                    "settled in 0",
                                    "train",
                                    "awaited",
                                    "leave",
                                    "enter 1",
                                    "settled in 1",
                                    "train",
                                    "awaited",
                                    "restored",
                                    "leave",
                                    "enter 2",
                                    "settled in 2",
                                    "train",
                                    "awaited");
                });
    }

    @Test
    void failedRestoreEndsWorkerAndIsReported() {
        World.run(
                1,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true);
                    Arena arena = Arena.ofShared();
                    TensorState state =
                            new TensorState()
                                    .with("w", Tensor.of(arena.allocate(4), DataType.FLOAT32))
                                    .inBackground();
                    assertThatThrownBy(
                                    () ->
                                            new ElasticLoop<TensorState, RuntimeException>(
                                                            generations,
                                                            state,
                                                            s -> {
                                                                s.awaitCommit();
                                                                arena.close();
                                                                s.save();
                                                                throw loss();
                                                            })
                                                    .run())
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageStartingWith("committing tensors [w] in the background")
                            .satisfies(
                                    e ->
                                            assertThat(e.getSuppressed())
                                                    .hasOnlyElementsOfType(PeerLostException.class)
                                                    .hasSize(1));
                    assertThat(generations.events.getLast())
                            .startsWith("abort: it has lost its last commit: ");
                });
    }

    @Test
    void peerLossEndsNonElasticJob() {
        World.run(
                1,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                new ElasticLoop<ObjectState, RuntimeException>(
                                                                new FakeGenerations(comm, false),
                                                                new ObjectState(),
                                                                _ -> {
                                                                    throw loss();
                                                                })
                                                        .run())
                                .isInstanceOf(PeerLostException.class));
    }

    /// Only rank 2 is notified. All ranks stop in the step in which rank 2 receives the
    /// notification.
    @Test
    void hostUpdateOnOneRankInterruptsAllRanks() {
        AtomicLong changes = new AtomicLong();
        World.run(
                3,
                comm -> {
                    FakeGenerations generations = new FakeGenerations(comm, true, changes);
                    ObjectState state = new ObjectState().with("step", 0);
                    List<Integer> begun = new ArrayList<>();
                    new ElasticLoop<ObjectState, RuntimeException>(
                                    generations,
                                    state,
                                    s -> {
                                        begun.add(s.getInt("step"));
                                        for (int step = s.getInt("step"); step < 9; step++) {
                                            if (step == 5 && comm.rank() == 2) {
                                                generations.announceHostUpdate();
                                            }
                                            s.set("step", step + 1);
                                            s.checkHostUpdates();
                                        }
                                    })
                            .run();
                    assertThat(begun).containsExactly(0, 6);
                    assertThat(state.getInt("step")).isEqualTo(9);
                });
    }
}
