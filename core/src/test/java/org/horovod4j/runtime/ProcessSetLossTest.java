package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.PeerLostException;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.rendezvous.LocalRendezvous;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.LocalMemoryDomain;
import org.horovod4j.transport.local.LocalPipes;
import org.horovod4j.transport.local.LocalTransport;
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

/// A rank ends while its process set is created, when the others map its memory.
final class ProcessSetLossTest {
    private final SortedMap<Integer, List<Integer>> former =
            new TreeMap<>(Map.of(1, List.of(0, 1)));
    private final LocalRendezvous rendezvous = new LocalRendezvous(2);
    private final LocalPipes localPipes = new LocalPipes();
    private final LocalMemoryDomain domain = new LocalMemoryDomain(List.of(0, 1));
    private final CompletableFuture<Boolean> end = new CompletableFuture<>();
    private final CompletableFuture<Boolean> lossSeen = new CompletableFuture<>();

    @Test
    void unmappableMemoryIsReportedAsLossOfItsRank() throws Exception {
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<?> survivor =
                    threads.submit(
                            () -> {
                                try (Rank rank = rank(0, this::missing)) {
                                    rank.rebuildProcessSets(former);
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
                                ending.get().rebuildProcessSets(former);
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
        WorldState state = new WorldState();
        ControlPlane control = rendezvous.controlPlane(number);
        List<RankInfo> members =
                control.join(new RankInfo(number, "alpha", "alpha", 0, "", List.of()), state);
        return Rank.start(
                new RankContext(
                        number,
                        members,
                        control,
                        state,
                        domain.memory(number),
                        _ -> new UnmappableRegion(failure),
                        new LocalTransport(localPipes, number),
                        Clock.SYSTEM,
                        Kernels.scalar(),
                        AllreduceChoice.AUTO,
                        null,
                        null,
                        RuntimeSettings.DEFAULT));
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
