package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.rendezvous.RendezvousTestRanks.Rank;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.Protection;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.horovod4j.spi.RankDeparture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;

/// How the ranks of a running job learn that one is lost.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
@Timeout(120)
final class PeerLossIT {
    private final Protection protection;

    PeerLossIT(Protection protection) {
        this.protection = protection;
    }

    @Test
    void closedConnectionIsALoss() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            world.raw.close();

            for (Rank survivor : world.others) {
                RankDeparture loss = survivor.losses.take();
                // It broke, rather than closed, if the server was sending at this moment.
                assertThat(loss.reason())
                        .startsWith("its connection ")
                        .endsWith(": the process has probably ended");
                assertThat(loss)
                        .isEqualTo(new RankDeparture(2, "host2", loss.reason(), false, Map.of()));
            }
        }
    }

    @Test
    void launcherExitReportIsPreferredReason() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            ranks.server.reportExit(2, "killed by signal 9 (SIGKILL)");
            world.raw.close();

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take().reason())
                        .isEqualTo("killed by signal 9 (SIGKILL)");
            }
        }
    }

    @Test
    void reportedHostLossIsALossDespiteOpenConnection() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            ranks.server.reportLoss(2, "contact with its host was lost");

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take())
                        .isEqualTo(
                                new RankDeparture(
                                        2,
                                        "host2",
                                        "contact with its host was lost",
                                        false,
                                        Map.of()));
            }
            assertThat(ranks.failed).containsExactly(2);
        }
    }

    @Test
    void onlyFirstLossIsReportedEvenWithLateReason() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            ranks.server.reportExit(2, "exit code 1");
            world.raw.close();
            Rank survivor = world.others.getFirst();
            RankDeparture first = survivor.losses.take();
            world.others.getLast().client.leave(Map.of(), false, "its process has ended");
            world.others.getLast().client.close();

            assertThat(first.rank()).isEqualTo(2);
            assertThat(survivor.client.survey()) // answered after all earlier announcements
                    .hasSize(3);
            assertThat(survivor.losses).isEmpty();
            assertThat(ranks.failed)
                    .as("reported to the listener of the server")
                    .containsExactly(2);
        }
    }

    @Test
    void silentRankIsDeclaredLostAndNotified() throws Exception {
        try (RendezvousTestRanks ranks =
                new RendezvousTestRanks(
                        protection, 3, Duration.ofSeconds(8), RendezvousTestRanks.LONG)) {
            ThreeRanks world = new ThreeRanks(ranks);

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take())
                        .isEqualTo(
                                new RankDeparture(2, "host2", "silent for 8 s", false, Map.of()));
            }
            assertThat(world.raw.receive())
                    .isInstanceOfSatisfying(
                            RendezvousMessage.Lost.class,
                            lost -> {
                                assertThat(lost.rankDeparture().rank()).isEqualTo(2);
                                assertThat(lost.rankDeparture().reason())
                                        .contains("declared it lost");
                            });
        }
    }

    @Test
    void aMalformedFrameIsALoss() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            new DataOutputStream(world.raw.secureConnection.output()).writeInt(Integer.MAX_VALUE);

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take().reason())
                        .contains("it sent a malformed message")
                        .contains("at most 1048576");
            }
        }
    }

    @Test
    void orderlyLeaveReportsCompletedOperations() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            List<Rank> all = ranks.joined(0);
            all.get(1).client.leave(Map.of(0, 12L, 3, 4L), true, "called shutdown");
            all.get(1).client.close();

            for (Rank each : List.of(all.get(0), all.get(2))) {
                assertThat(each.losses.take())
                        .isEqualTo(
                                new RankDeparture(
                                        1,
                                        "host1",
                                        "called shutdown",
                                        true,
                                        Map.of(0, 12L, 3, 4L)));
            }
            all.get(0).client.leave(Map.of(0, 12L, 3, 4L), true, "called shutdown");
            all.get(0).client.close();
            assertThat(all.get(2).client.survey()).hasSize(3); // answered after all announcements
            assertThat(all.get(2).losses)
                    .as("ranks of its process sets must know")
                    .extracting(RankDeparture::rank)
                    .containsExactly(0);
            assertThat(all.get(1).losses).as("the rank that left receives nothing").isEmpty();
            assertThat(ranks.failed).isEmpty();
        }
    }

    @Test
    void failureAfterOrderlyLeaveIsReported() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            world.others.getFirst().client.leave(Map.of(0, 5L), true, "called shutdown");
            Rank survivor = world.others.getLast();
            assertThat(survivor.losses.take().rank()).isZero();
            world.raw.close();

            assertThat(survivor.losses.take().rank()).isEqualTo(2);
        }
    }

    @Test
    void lossFailsPendingGather() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            Future<?> allgather =
                    ranks.async(
                            () -> world.others.getFirst().client.allgather("plan", new byte[9]));
            world.raw.send(new RendezvousMessage.Allgather("plan", new byte[9]));
            world.raw.close();

            assertThatThrownBy(allgather::get)
                    .cause()
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining(
                            "allgather of 'plan': rank 2 (host2, process 1002) is gone");
            assertThatThrownBy(() -> world.others.getFirst().client.allgather("next", new byte[0]))
                    .as("an allgather after the loss")
                    .isInstanceOf(PeerLostException.class);
        }
    }

    @Test
    void serverCloseIsLossOfLauncher() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 2)) {
            List<Rank> all = ranks.joined(0);
            ranks.server.close();

            for (Rank each : all) {
                RankDeparture rankDeparture = each.losses.take();
                assertThat(rankDeparture.rank()).isEqualTo(-1);
                assertThat(rankDeparture.reason()).startsWith("the launcher").contains("is gone");
            }
        }
    }

    @Test
    void silentServerIsLossOfLauncher() throws Exception {
        Secret secret = Secret.random().withProtection(protection);
        Acceptor stuck =
                Acceptor.open(
                        List.of(new InetSocketAddress(0)),
                        new Handshake(secret, Purpose.RENDEZVOUS),
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(System.getLogger("test")),
                        PeerLossIT::acceptAndSendNothing);
        Duration timeout = Duration.ofSeconds(5);
        RendezvousClient client =
                new RendezvousClient(
                        secret,
                        List.of(new InetSocketAddress(stuck.address().getPort())),
                        0,
                        1,
                        0,
                        timeout,
                        RendezvousTestRanks.LONG);
        try (stuck;
                client) {
            Rank rank = new Rank(client, RendezvousTestRanks.member(0));
            assertThat(rank.join()).containsExactly(rank.info);

            assertThat(rank.losses.take().reason()).contains("cut off: silent for 5 s");
        }
    }

    private static void acceptAndSendNothing(SecureConnection secureConnection) {
        try {
            ScriptedClient peer = new ScriptedClient(secureConnection);
            assertThat(peer.receive()).isInstanceOf(RendezvousMessage.Join.class);
            peer.send(new RendezvousMessage.Joined(List.of(RendezvousTestRanks.member(0))));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aFloodOfMessagesIsALoss() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 3)) {
            ThreeRanks world = new ThreeRanks(ranks);
            Future<?> flood = ranks.async(world::flood);

            assertThat(world.others.getFirst().losses.take().reason())
                    .contains("messages in a second");
            assertThatThrownBy(flood::get).hasRootCauseInstanceOf(IOException.class);
        }
    }

    @Test
    void allgatherFailsBeforeJoinAndAfterLeave() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(protection, 1)) {
            Rank rank = ranks.rank(0);
            assertThatThrownBy(() -> rank.client.allgather("early", new byte[0]))
                    .isInstanceOf(IllegalStateException.class);
            rank.join();
            assertThatThrownBy(() -> rank.client.allgather("big", new byte[1 << 20]))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("1048576");
            rank.client.leave(Map.of(), true, "called shutdown");
            assertThatThrownBy(() -> rank.client.allgather("late", new byte[0]))
                    .isInstanceOf(ShutDownException.class);
        }
    }

    /// Three ranks: two real clients, and a scripted one as rank 2.
    private static final class ThreeRanks {
        final List<Rank> others = new ArrayList<>();
        final ScriptedClient raw;

        ThreeRanks(RendezvousTestRanks ranks) throws Exception {
            others.add(ranks.rank(0));
            others.add(ranks.rank(1));
            raw =
                    new ScriptedClient(ranks)
                            .send(new RendezvousMessage.Join(0, 3, RendezvousTestRanks.member(2)));
            ranks.onEach(others, Rank::join);
            assertThat(raw.receive()).isInstanceOf(RendezvousMessage.Joined.class);
        }

        void flood() {
            RendezvousMessage ignored = new RendezvousMessage.DescribeReply(0, -1, new byte[0]);
            try {
                while (true) {
                    raw.send(Collections.nCopies(1000, ignored));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
