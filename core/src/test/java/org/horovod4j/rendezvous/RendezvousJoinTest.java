package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.PeerLostException;
import org.horovod4j.rendezvous.RendezvousTestRanks.Rank;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.testsupport.FreePort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/// How ranks join, and how joining fails.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
final class RendezvousJoinTest {
    private final Protection protection;

    RendezvousJoinTest(Protection protection) {
        this.protection = protection;
    }

    @ParameterizedTest(name = "size {0}")
    @ValueSource(ints = {1, 2, 16, 64})
    void joinReturnsMembersInRankOrder(int size) throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, size)) {
            List<Rank> all = IntStream.range(0, size).mapToObj(ranks::rank).toList();

            ranks.onEach(
                    all,
                    rank ->
                            assertThat(rank.join())
                                    .isEqualTo(
                                            IntStream.range(0, size)
                                                    .mapToObj(RendezvousTestRanks::member)
                                                    .toList()));
        }
    }

    @ParameterizedTest(name = "size {0}")
    @ValueSource(ints = {1, 2, 16, 64})
    void allgatherReturnsAllContributionsToEveryRank(int size) throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, size)) {
            ranks.onEach(
                    ranks.joined(0),
                    rank -> {
                        for (int round = 0; round < 5; round++) {
                            String topic = "topic " + round;
                            byte[] mine = (topic + " of " + rank.info.rank()).getBytes(UTF_8);
                            assertThat(rank.client.allgather(topic, mine))
                                    .extracting(contribution -> new String(contribution, UTF_8))
                                    .containsExactlyElementsOf(
                                            IntStream.range(0, size)
                                                    .mapToObj(each -> topic + " of " + each)
                                                    .toList());
                        }
                    });
        }
    }

    @Test
    void joinTimeoutNamesMissingRanks() throws Exception {
        try (RendezvousTestRanks ranks =
                new RendezvousTestRanks(
                        protection, 5, RendezvousTestRanks.LONG, Duration.ofSeconds(6))) {
            ranks.onEach(
                    List.of(ranks.rank(0), ranks.rank(2)),
                    rank ->
                            assertThatThrownBy(rank::join)
                                    .isInstanceOf(ConfigurationException.class)
                                    .hasMessageContaining("after 6 s, ranks 1, 3, 4 of 5")
                                    .satisfies(
                                            thrown ->
                                                    assertThat(thrown.getStackTrace())
                                                            .as("the caller's frames")
                                                            .extracting(
                                                                    StackTraceElement::getClassName)
                                                            .contains(
                                                                    RendezvousJoinTest.class
                                                                            .getName())));
            assertThatThrownBy(ranks.rank(1)::join)
                    .as("a rank that joins later gets the same error")
                    .isInstanceOf(ConfigurationException.class);
        }
    }

    @Test
    void invalidJoinIsRefusedWithoutAffectingOthers() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 2)) {
            Future<?> first = ranks.async(ranks.rank(0)::join);
            assertThatThrownBy(ranks.rank(1, 3, 0)::join)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("it reports size 3, but the job has 2 ranks");
            assertThatThrownBy(ranks.rank(2)::join)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("the job has ranks 0 to 1");
            ranks.rank(1).join();
            first.get();
            assertThatThrownBy(ranks.rank(1)::join)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("process 1001 on host1 has already joined as this rank");
        }
    }

    @Test
    void rankLossDuringJoinFailsJoin() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            Future<?> waiting = ranks.async(ranks.rank(0)::join);
            try (ScriptedClient dying = new ScriptedClient(ranks)) {
                dying.send(new RendezvousMessage.Join(0, 3, RendezvousTestRanks.member(1)));
            }
            assertThatThrownBy(waiting::get)
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOfSatisfying(
                            PeerLostException.class, e -> assertThat(e.lostRank()).isEqualTo(1))
                    .hasMessageContaining("rank 1 (host1, process 1001) is gone")
                    .hasMessageContaining("Look at the output of rank 1 first");
        }
    }

    @Test
    void processExitBeforeJoinFailsJoin() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            Future<?> waiting = ranks.async(ranks.rank(0)::join);
            ranks.server.reportExit(2, "exit code 3");

            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("rank 2 (unknown host) is gone: exit code 3, before");
        }
    }

    @Test
    void aClientWaitsForAServerThatStartsLater() throws Exception {
        int port = FreePort.choose();
        Secret secret = Secret.random().withProtection(protection);
        RendezvousClient client = client(secret, port, RendezvousTestRanks.LONG);
        RendezvousTestRanks.Rank rank =
                new RendezvousTestRanks.Rank(client, RendezvousTestRanks.member(0));
        Thread joining = Thread.startVirtualThread(rank::join);

        try (RendezvousServer server =
                        RendezvousServer.start(
                                secret,
                                1,
                                new InetSocketAddress(port),
                                RendezvousTestRanks.LONG,
                                RendezvousTestRanks.LONG);
                client) {
            assertThat(server.address().getPort()).isEqualTo(port);
            joining.join();
            assertThat(client.allgather("alone", new byte[1])).hasSize(1);
        }
    }

    @Test
    void missingServerIsAConfigurationError() throws Exception {
        int port = FreePort.choose();
        try (RendezvousClient client =
                client(Secret.random().withProtection(protection), port, Duration.ofMillis(300))) {
            assertThatThrownBy(
                            new RendezvousTestRanks.Rank(client, RendezvousTestRanks.member(0))
                                    ::join)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("no rendezvous server was reached in 0.3 s")
                    .hasMessageContaining(":" + port + ": Connection refused");
        }
    }

    @Test
    void wrongSecretFailsImmediately() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 1);
                RendezvousClient client =
                        client(
                                Secret.random().withProtection(protection),
                                ranks.server.address().getPort(),
                                RendezvousTestRanks.LONG)) {
            assertThatThrownBy(
                            new RendezvousTestRanks.Rank(client, RendezvousTestRanks.member(0))
                                    ::join)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("refused our proof of the job's secret");
            ranks.rank(0).join();
        }
    }

    @Test
    void ranksCanRejoinWhileOthersStillLeave() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 2)) {
            List<Rank> first = ranks.joined(0);
            first.getFirst().client.leave(Map.of(0, 1L), true, "called shutdown");
            first.getFirst().client.close();
            Rank ahead = ranks.rank(0, 2, 1);
            Future<?> joining = ranks.async(ahead::join);

            assertThat(first.getLast().losses.take().orderly()).isTrue();
            first.getLast().client.leave(Map.of(0, 1L), true, "called shutdown");
            first.getLast().client.close();
            ranks.rank(1, 2, 1).join();
            joining.get();

            assertThat(ahead.losses).isEmpty();
        }
    }

    private static RendezvousClient client(Secret secret, int port, Duration startTimeout) {
        return new RendezvousClient(
                secret,
                List.of(InetSocketAddress.createUnresolved("localhost", port)),
                0,
                1,
                0,
                RendezvousTestRanks.LONG,
                startTimeout);
    }
}
