package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.rendezvous.Ranks.Rank;
import org.horovod4j.spi.Loss;
import org.horovod4j.trust.Gate;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Line;
import org.horovod4j.trust.Protection;
import org.horovod4j.trust.RefusalLog;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.SocketSettings;
import org.junit.jupiter.api.Test;
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

/// How the ranks of a running job learn of each other's end.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
final class LossTest {
    private final Protection protection;

    LossTest(Protection protection) {
        this.protection = protection;
    }

    @Test
    void aConnectionThatClosesIsALoss() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            World3 world = new World3(ranks);
            world.raw.close();

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take())
                        .isEqualTo(
                                new Loss(
                                        2,
                                        "host2",
                                        "its connection closed: the process has probably ended",
                                        false,
                                        Map.of()));
            }
        }
    }

    @Test
    void theLaunchersReportIsTheBetterReason() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            World3 world = new World3(ranks);
            ranks.server.reportExit(2, "killed by signal 9 (SIGKILL)");
            world.raw.close();

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take().reason())
                        .isEqualTo("killed by signal 9 (SIGKILL)");
            }
        }
    }

    @Test
    void aRankWhoseHostIsLostIsGivenUpThoughItsConnectionSeemsOpen() throws Exception {
        try (Ranks ranks = new Ranks(3)) {
            World3 world = new World3(ranks);
            ranks.server.reportLoss(2, "contact with its host was lost");

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take())
                        .isEqualTo(
                                new Loss(
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
    void onlyTheFirstLossIsToldThoughTheReasonComesLater() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            World3 world = new World3(ranks);
            ranks.server.reportExit(2, "exit code 1");
            world.raw.close();
            Rank survivor = world.others.getFirst();
            Loss first = survivor.losses.take();
            world.others.getLast().client.leave(Map.of(), false, "its process has ended");
            world.others.getLast().client.close();

            assertThat(first.rank()).isEqualTo(2);
            assertThat(survivor.client.survey()) // comes after all that was announced before
                    .hasSize(3);
            assertThat(survivor.losses).isEmpty();
            assertThat(ranks.failed).as("told to the server's owner").containsExactly(2);
        }
    }

    @Test
    void aSilentRankIsGivenUpAndHearsIt() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3, Duration.ofSeconds(2), Ranks.CALM)) {
            World3 world = new World3(ranks);

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take())
                        .isEqualTo(new Loss(2, "host2", "silent for 2 s", false, Map.of()));
            }
            assertThat(world.raw.hear())
                    .isInstanceOfSatisfying(
                            Message.Lost.class,
                            lost -> {
                                assertThat(lost.loss().rank()).isEqualTo(2);
                                assertThat(lost.loss().reason()).contains("gave it up");
                            });
        }
    }

    @Test
    void aMalformedFrameIsALoss() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            World3 world = new World3(ranks);
            new DataOutputStream(world.raw.line.output()).writeInt(Integer.MAX_VALUE);

            for (Rank survivor : world.others) {
                assertThat(survivor.losses.take().reason())
                        .contains("it sent what we do not understand")
                        .contains("at most 1048576");
            }
        }
    }

    @Test
    void anOrderlyLeaveIsToldWithItsOperations() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            List<Rank> all = ranks.joined(0);
            all.get(1).client.leave(Map.of(0, 12L, 3, 4L), true, "called shutdown");
            all.get(1).client.close();

            for (Rank each : List.of(all.get(0), all.get(2))) {
                assertThat(each.losses.take())
                        .isEqualTo(
                                new Loss(
                                        1,
                                        "host1",
                                        "called shutdown",
                                        true,
                                        Map.of(0, 12L, 3, 4L)));
            }
            all.get(0).client.leave(Map.of(0, 12L, 3, 4L), true, "called shutdown");
            all.get(0).client.close();
            assertThat(all.get(2).client.survey()).hasSize(3); // after all that was announced
            assertThat(all.get(2).losses)
                    .as("whoever is in a process set with it must know")
                    .extracting(Loss::rank)
                    .containsExactly(0);
            assertThat(all.get(1).losses).as("the leaver hears nothing").isEmpty();
            assertThat(ranks.failed).isEmpty();
        }
    }

    @Test
    void aFailureAfterAnOrderlyLeaveIsTold() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            World3 world = new World3(ranks);
            world.others.getFirst().client.leave(Map.of(0, 5L), true, "called shutdown");
            Rank survivor = world.others.getLast();
            assertThat(survivor.losses.take().rank()).isZero();
            world.raw.close();

            assertThat(survivor.losses.take().rank()).isEqualTo(2);
        }
    }

    @Test
    void aLossEndsAGather() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            World3 world = new World3(ranks);
            Future<?> gather =
                    ranks.async(() -> world.others.getFirst().client.gather("plan", new byte[9]));
            world.raw.say(new Message.Gather("plan", new byte[9]));
            world.raw.close();

            assertThatThrownBy(gather::get)
                    .cause()
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("gather of 'plan': rank 2 (host2, process 1002) is gone");
            assertThatThrownBy(() -> world.others.getFirst().client.gather("next", new byte[0]))
                    .as("a gather after the loss")
                    .isInstanceOf(PeerLostException.class);
        }
    }

    @Test
    void aServerThatClosesIsTheLossOfTheLauncher() throws Exception {
        try (Ranks ranks = new Ranks(protection, 2)) {
            List<Rank> all = ranks.joined(0);
            ranks.server.close();

            for (Rank each : all) {
                Loss loss = each.losses.take();
                assertThat(loss.rank()).isEqualTo(-1);
                assertThat(loss.reason()).startsWith("the launcher").contains("is gone");
            }
        }
    }

    @Test
    void aServerThatFallsSilentIsTheLossOfTheLauncher() throws Exception {
        Secret secret = Secret.random().with(protection);
        Gate stuck =
                Gate.open(
                        new InetSocketAddress(0),
                        new Handshake(secret, Purpose.RENDEZVOUS),
                        SocketSettings.DEFAULT,
                        new RefusalLog(System.getLogger("test")),
                        LossTest::welcomeAndFallSilent);
        Duration timeout = Duration.ofMillis(500);
        RendezvousClient client =
                new RendezvousClient(
                        secret,
                        List.of(new InetSocketAddress(stuck.address().getPort())),
                        0,
                        1,
                        0,
                        timeout,
                        Ranks.CALM);
        try (stuck;
                client) {
            Rank rank = new Rank(client, Ranks.card(0));
            assertThat(rank.join()).containsExactly(rank.card);

            assertThat(rank.losses.take().reason()).contains("cut off: silent for 0.5 s");
        }
    }

    private static void welcomeAndFallSilent(Line line) {
        try {
            Frames frames = new Frames(line, Frames.CLIENT_LIMIT);
            assertThat(frames.read()).isInstanceOf(Message.Join.class);
            frames.write(new Message.Joined(List.of(Ranks.card(0))));
            frames.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aFloodOfMessagesIsALoss() throws Exception {
        try (Ranks ranks = new Ranks(protection, 3)) {
            World3 world = new World3(ranks);
            Future<?> flood = ranks.async(world::flood);

            assertThat(world.others.getFirst().losses.take().reason())
                    .contains("messages in a second");
            assertThatThrownBy(flood::get).hasRootCauseInstanceOf(IOException.class);
        }
    }

    @Test
    void whoHasLeftIsToldSo() throws Exception {
        try (Ranks ranks = new Ranks(protection, 1)) {
            Rank rank = ranks.rank(0);
            assertThatThrownBy(() -> rank.client.gather("early", new byte[0]))
                    .isInstanceOf(IllegalStateException.class);
            rank.join();
            assertThatThrownBy(() -> rank.client.gather("big", new byte[1 << 20]))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("1048576");
            rank.client.leave(Map.of(), true, "called shutdown");
            assertThatThrownBy(() -> rank.client.gather("late", new byte[0]))
                    .isInstanceOf(ShutDownException.class);
        }
    }

    /// A world of three: two proper clients, and rank 2 with no will of its own.
    private static final class World3 {
        final List<Rank> others = new ArrayList<>();
        final SilentClient raw;

        World3(Ranks ranks) throws Exception {
            others.add(ranks.rank(0));
            others.add(ranks.rank(1));
            raw = new SilentClient(ranks).say(new Message.Join(0, 3, Ranks.card(2)));
            ranks.onEach(others, Rank::join);
            assertThat(raw.hear()).isInstanceOf(Message.Joined.class);
        }

        void flood() {
            try {
                while (true) {
                    raw.say(Collections.nCopies(1000, new Message.Heartbeat()));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
