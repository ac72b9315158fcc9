package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ShutDownException;
import org.horovod4j.rendezvous.RendezvousTestRanks.Rank;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/// What ranks learn of each other when one of them asks.
final class SurveyTest {
    @ParameterizedTest(name = "size {0}")
    @ValueSource(ints = {1, 2, 16})
    void concurrentSurveysOfAllRanksReturnAllAnswers(int size) throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(size)) {
            List<Rank> all = rendezvousTestRanks.joined(0);
            all.forEach(SurveyTest::tellRank);
            List<String> expected = IntStream.range(0, size).mapToObj(i -> "rank " + i).toList();

            rendezvousTestRanks.onEach(
                    all,
                    rank -> {
                        for (int round = 0; round < 5; round++) {
                            assertThat(texts(rank.client.survey())).isEqualTo(expected);
                        }
                    });
        }
    }

    @Test
    void severalThreadsOfOneRankCanSurvey() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(2)) {
            List<Rank> all = rendezvousTestRanks.joined(0);
            all.forEach(SurveyTest::tellRank);
            List<Future<?>> asking = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                asking.add(
                        rendezvousTestRanks.async(
                                () ->
                                        assertThat(texts(all.getLast().client.survey()))
                                                .containsExactly("rank 0", "rank 1")));
            }
            for (Future<?> each : asking) {
                each.get();
            }
        }
    }

    @Test
    void rankWithBlockedProgramStillAnswers() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(2)) {
            List<Rank> all = rendezvousTestRanks.joined(0);
            all.forEach(SurveyTest::tellRank);
            Rank stuck = all.getLast();
            Future<?> hanging =
                    rendezvousTestRanks.async(() -> stuck.client.allgather("alone", new byte[0]));

            assertThat(texts(all.getFirst().client.survey())).containsExactly("rank 0", "rank 1");
            assertThat(hanging.isDone()).isFalse();
            all.getFirst().client.allgather("alone", new byte[0]);
            hanging.get();
        }
    }

    @Test
    void silentRankIsNullInSurvey() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(2)) {
            Rank asking = rendezvousTestRanks.rank(0);
            tellRank(asking);
            try (ScriptedClient silent = new ScriptedClient(rendezvousTestRanks)) {
                silent.send(new RendezvousMessage.Join(0, 2, RendezvousTestRanks.member(1)));
                asking.join();

                assertThat(texts(asking.client.survey())).containsExactly("rank 0", null);

                assertThat(silent.receive()).isInstanceOf(RendezvousMessage.Joined.class);
                assertThat(silent.receive()).isEqualTo(new RendezvousMessage.DescribeRequest(0, 1));
                silent.send(new RendezvousMessage.DescribeReply(0, 1, "too late".getBytes(UTF_8)));
                Future<?> next =
                        rendezvousTestRanks.async(
                                () ->
                                        assertThat(texts(asking.client.survey()))
                                                .containsExactly("rank 0", "in time"));
                assertThat(silent.receive()).isEqualTo(new RendezvousMessage.DescribeRequest(0, 2));
                silent.send(new RendezvousMessage.DescribeReply(0, 2, "in time".getBytes(UTF_8)));
                silent.send(
                        new RendezvousMessage.DescribeReply(0, 2, "said twice".getBytes(UTF_8)));
                next.get();
            }
        }
    }

    @Test
    void rankLossDuringSurveyEndsWait() throws Exception {
        CountDownLatch described = new CountDownLatch(1);
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(2)) {
            Rank asking = rendezvousTestRanks.rank(0);
            ScriptedClient dying = new ScriptedClient(rendezvousTestRanks);
            dying.send(new RendezvousMessage.Join(0, 2, RendezvousTestRanks.member(1)));
            asking.join();
            asking.state =
                    () -> {
                        described.countDown();
                        return new byte[0];
                    };
            Future<?> survey =
                    rendezvousTestRanks.async(
                            () ->
                                    assertThat(texts(asking.client.survey()))
                                            .containsExactly("", null));
            described.await();
            dying.close();

            survey.get();
            assertThat(asking.losses.take().rank()).isEqualTo(1);
            assertThat(texts(asking.client.survey()))
                    .as("after the loss")
                    .containsExactly("", null);
        }
    }

    @Test
    void failedDescriptionIsReportedAndLongOneIsTruncated() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(2)) {
            List<Rank> all = rendezvousTestRanks.joined(0);
            all.getFirst().state = () -> new byte[StateDescription.MAX_BYTES + 1];
            all.getLast().state =
                    () -> {
                        throw new IllegalStateException("torn to pieces");
                    };

            List<byte @Nullable []> answers = all.getLast().client.survey();
            assertThat(answers.getFirst()).hasSize(StateDescription.MAX_BYTES);
            assertThat(texts(answers).getLast())
                    .isEqualTo(
                            "could not describe its state: "
                                    + "java.lang.IllegalStateException: torn to pieces");
            assertThat(all.getFirst().losses).isEmpty();
        }
    }

    @Test
    void serverCloseEndsSurvey() throws Exception {
        CountDownLatch described = new CountDownLatch(1);
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(2)) {
            Rank asking = rendezvousTestRanks.rank(0);
            asking.state =
                    () -> {
                        described.countDown();
                        return new byte[0];
                    };
            try (ScriptedClient silent = new ScriptedClient(rendezvousTestRanks)) {
                silent.send(new RendezvousMessage.Join(0, 2, RendezvousTestRanks.member(1)));
                asking.join();
                Future<?> survey =
                        rendezvousTestRanks.async(
                                () -> assertThat(asking.client.survey()).hasSize(2));
                described.await();
                rendezvousTestRanks.server.close();

                survey.get();
            }
        }
    }

    @Test
    void surveyAfterLeaveFails() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(1)) {
            Rank rank = rendezvousTestRanks.rank(0);
            assertThatThrownBy(rank.client::survey).isInstanceOf(IllegalStateException.class);
            rank.join();
            rank.client.leave(Map.of(), true, "called shutdown");
            assertThatThrownBy(rank.client::survey).isInstanceOf(ShutDownException.class);
        }
    }

    private static void tellRank(Rank rank) {
        rank.state = () -> ("rank " + rank.card.rank()).getBytes(UTF_8);
    }

    static List<@Nullable String> texts(List<byte @Nullable []> answers) {
        List<@Nullable String> texts = new ArrayList<>();
        for (byte[] answer : answers) {
            texts.add(answer == null ? null : new String(answer, UTF_8));
        }
        return texts;
    }
}
