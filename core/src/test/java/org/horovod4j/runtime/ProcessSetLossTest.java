package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.PeerLostException;
import org.horovod4j.spi.RankInfo;
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

/// A rank ends while its process set is added, when the others map its memory.
final class ProcessSetLossTest {
    private final SortedMap<Integer, List<Integer>> former =
            new TreeMap<>(Map.of(1, List.of(0, 1)));
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
