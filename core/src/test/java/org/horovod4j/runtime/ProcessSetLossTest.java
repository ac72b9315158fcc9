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
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.Exchange;
import org.horovod4j.transport.local.LocalChannels;
import org.horovod4j.transport.local.LocalDomain;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;

/// A rank that ends while its process set is made, when the others look for its memory.
final class ProcessSetLossTest {
    private final SortedMap<Integer, List<Integer>> former =
            new TreeMap<>(Map.of(1, List.of(0, 1)));
    private final LocalRendezvous rendezvous = new LocalRendezvous(2);
    private final Exchange exchange = new Exchange();
    private final LocalDomain domain = new LocalDomain(List.of(0, 1));
    private final CompletableFuture<Boolean> end = new CompletableFuture<>();

    @Test
    void memoryThatIsGoneIsToldAsTheLossOfItsRank() throws Exception {
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
                                Rank rank = rank(1, () -> new IllegalStateException("the end"));
                                try {
                                    rank.rebuildProcessSets(former);
                                } finally {
                                    rank.abandon("the test wants it");
                                    end.complete(true);
                                }
                            });
            assertThatThrownBy(victim::get).hasRootCauseMessage("the end");
            assertThatThrownBy(survivor::get)
                    .cause()
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("the test wants it");
        }
    }

    private RuntimeException missing() {
        end.join();
        return new ConfigurationException("mapping the memory of rank 1: no such file");
    }

    private Rank rank(int number, Supplier<RuntimeException> failure) {
        WorldState state = new WorldState();
        ControlPlane control = rendezvous.controlPlane(number);
        List<Member> members =
                control.join(new Member(number, "alpha", "alpha", 0, "", List.of()), state);
        return Rank.of(
                new Parts(
                        number,
                        members,
                        control,
                        state,
                        domain.memory(number),
                        _ -> new Unmapped(failure),
                        new LocalChannels(exchange, number),
                        Clock.SYSTEM,
                        Kernels.scalar(),
                        AllreduceChoice.AUTO,
                        null,
                        null,
                        RuntimeSettings.DEFAULT));
    }

    /// Memory that nobody else can have.
    private record Unmapped(Supplier<RuntimeException> failure) implements Sharing.Space {
        @Override
        public String address() {
            return "";
        }

        @Override
        public SharedMemory meet(List<Member> members, int rank) {
            throw failure.get();
        }

        @Override
        public void met() {}

        @Override
        public void close() {}
    }
}
