package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;
import org.horovod4j.transport.SharedMemory;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/// A rank ends while its process set is added.
final class ProcessSetLossTest {
    private final SortedMap<Integer, List<Integer>> former =
            new TreeMap<>(Map.of(1, List.of(0, 1)));
    private final SortedMap<Integer, List<Integer>> single = new TreeMap<>(Map.of(1, List.of(0)));
    private final RanksOfOneHost ranks = new RanksOfOneHost(2);
    private final CompletableFuture<Boolean> end = new CompletableFuture<>();
    private final CompletableFuture<Boolean> lossSeen = new CompletableFuture<>();

    @Test
    void unmappableMemoryIsReportedAsLossOfItsRank() throws Exception {
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<?> survivor =
                    threads.submit(
                            () -> {
                                try (Rank rank = rank(0, this::missing)) {
                                    rank.addProcessSetsAgain(former);
                                }
                            });
            Future<?> victim =
                    threads.submit(
                            () -> {
                                AtomicReference<Rank> ending = new AtomicReference<>();
                                ending.set(
                                        rank(
                                                1,
                                                () -> {
                                                    ending.get().abort("the test wants it");
                                                    end.complete(true);
                                                    lossSeen.join();
                                                    return new IllegalStateException("the end");
                                                }));
                                ending.get().addProcessSetsAgain(former);
                            });
            try {
                assertThatThrownBy(survivor::get)
                        .cause()
                        .isInstanceOf(PeerLostException.class)
                        .hasMessageContaining("the test wants it");
            } finally {
                lossSeen.complete(true);
            }
            assertThatThrownBy(victim::get).hasStackTraceContaining("the end");
        }
    }

    /// The rank closes when all ranks have mapped the memory, so no step of the others fails.
    @Test
    void rankThatClosesDuringAnAddFreesTheSet() {
        AtomicReference<Rank> closing = new AtomicReference<>();
        RecordingMemory memory = new RecordingMemory();
        closing.set(singleRank(memory, () -> closing.get().close()));
        assertThatThrownBy(() -> closing.get().addProcessSetsAgain(single))
                .isInstanceOf(ShutDownException.class)
                .hasMessageContaining("this rank has called shutdown");
        assertFreed(memory, closing.get());
    }

    @Test
    void failureToConnectFreesTheSet() {
        RecordingMemory memory = new RecordingMemory();
        Runnable failure =
                () -> {
                    throw new IllegalStateException("no free port");
                };
        try (Rank rank = singleRank(memory, failure)) {
            assertThatThrownBy(() -> rank.addProcessSetsAgain(single))
                    .isInstanceOf(HorovodException.class)
                    .hasRootCauseMessage("no free port");
            assertFreed(memory, rank);
        }
    }

    private static void assertFreed(RecordingMemory memory, Rank rank) {
        assertThat(memory.mapped)
                .singleElement()
                .satisfies(mapped -> assertThat(mapped.region(0).scope().isAlive()).isFalse());
        assertThat(rank.context().state().completed()).containsOnlyKeys(0);
    }

    /// A job with one rank.
    ///
    /// @param beforeControl called when the first set that is added opens its control channel
    private static Rank singleRank(RecordingMemory memory, Runnable beforeControl) {
        RanksOfOneHost job = new RanksOfOneHost(1);
        LinkTransport transport = job.transport(0);
        return job.start(
                0,
                memory,
                new LinkTransport() {
                    @Override
                    public Links open(int id, Liveness liveness) {
                        Links links = transport.open(id, liveness);
                        if (id == 3) { // 0 and 1 are channels of the set of all ranks
                            beforeControl.run();
                        }
                        return links;
                    }

                    @Override
                    public void close() {
                        transport.close();
                    }
                });
    }

    private RuntimeException missing() {
        end.join();
        return new ConfigurationException("mapping the memory of rank 1: no such file");
    }

    private Rank rank(int number, Supplier<RuntimeException> failure) {
        return ranks.start(number, _ -> new UnmappableRegion(failure));
    }

    /// Memory that no other rank can map.
    private record UnmappableRegion(Supplier<RuntimeException> failure)
            implements SharedMemoryFactory.Region {
        @Override
        public String address() {
            return "";
        }

        @Override
        public SharedMemory map(List<RankInfo> members, int rank) {
            throw failure.get();
        }

        @Override
        public void unlink() {}

        @Override
        public void close() {}
    }
}
