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

/// Surveys of the state of all ranks.
final class SurveyTest {
    @ParameterizedTest(name = "size {0}")
    @ValueSource(ints = {1, 2, 16})
    void concurrentSurveysOfAllRanksReturnAllAnswers(int size) throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(size)) {
            List<Rank> all = ranks.joined(0);
            all.forEach(SurveyTest::describeByRank);
            List<String> expected = IntStream.range(0, size).mapToObj(i -> "rank " + i).toList();

            ranks.onEach(
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
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            List<Rank> all = ranks.joined(0);
            all.forEach(SurveyTest::describeByRank);
            List<Future<?>> surveys = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                surveys.add(
                        ranks.async(
                                () ->
                                        assertThat(texts(all.getLast().client.survey()))
                                                .containsExactly("rank 0", "rank 1")));
            }
            for (Future<?> each : surveys) {
                each.get();
            }
        }
    }

    @Test
    void rankWithBlockedProgramStillAnswers() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            List<Rank> all = ranks.joined(0);
            all.forEach(SurveyTest::describeByRank);
            Rank stuck = all.getLast();
            Future<?> hanging = ranks.async(() -> stuck.client.allgather("alone", new byte[0]));

            assertThat(texts(all.getFirst().client.survey())).containsExactly("rank 0", "rank 1");
            assertThat(hanging.isDone()).isFalse();
            all.getFirst().client.allgather("alone", new byte[0]);
            hanging.get();
        }
    }

    @Test
    void silentRankIsNullInSurvey() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            Rank requester = ranks.rank(0);
            describeByRank(requester);
            try (ScriptedClient silent = new ScriptedClient(ranks)) {
                silent.send(new RendezvousMessage.Join(0, 2, RendezvousTestRanks.member(1)));
                requester.join();

                assertThat(texts(requester.client.survey())).containsExactly("rank 0", null);

                assertThat(silent.receive()).isInstanceOf(RendezvousMessage.Joined.class);
                assertThat(silent.receive()).isEqualTo(new RendezvousMessage.DescribeRequest(0, 1));
                silent.send(new RendezvousMessage.DescribeReply(0, 1, "too late".getBytes(UTF_8)));
                Future<?> next =
                        ranks.async(
                                () ->
                                        assertThat(texts(requester.client.survey()))
                                                .containsExactly("rank 0", "in time"));
                assertThat(silent.receive()).isEqualTo(new RendezvousMessage.DescribeRequest(0, 2));
                silent.send(new RendezvousMessage.DescribeReply(0, 2, "in time".getBytes(UTF_8)));
                silent.send(
                        new RendezvousMessage.DescribeReply(
                                0, 2, "a second answer".getBytes(UTF_8)));
                next.get();
            }
        }
    }

    @Test
    void rankLossDuringSurveyEndsWait() throws Exception {
        CountDownLatch described = new CountDownLatch(1);
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            Rank requester = ranks.rank(0);
            ScriptedClient dying = new ScriptedClient(ranks);
            dying.send(new RendezvousMessage.Join(0, 2, RendezvousTestRanks.member(1)));
            requester.join();
            requester.state =
                    () -> {
                        described.countDown();
                        return new byte[0];
                    };
            Future<?> survey =
                    ranks.async(
                            () ->
                                    assertThat(texts(requester.client.survey()))
                                            .containsExactly("", null));
            described.await();
            dying.close();

            survey.get();
            assertThat(requester.losses.take().rank()).isEqualTo(1);
            assertThat(texts(requester.client.survey()))
                    .as("after the loss")
                    .containsExactly("", null);
        }
    }

    @Test
    void failedDescriptionIsReportedAndLongOneIsTruncated() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            List<Rank> all = ranks.joined(0);
            all.getFirst().state = () -> new byte[StateDescription.MAX_BYTES + 1];
            all.getLast().state =
                    () -> {
                        throw new IllegalStateException("broken");
                    };

            List<byte @Nullable []> answers = all.getLast().client.survey();
            assertThat(answers.getFirst()).hasSize(StateDescription.MAX_BYTES);
            assertThat(texts(answers).getLast())
                    .isEqualTo(
                            "could not describe its state: "
                                    + "java.lang.IllegalStateException: broken");
            assertThat(all.getFirst().losses).isEmpty();
        }
    }

    @Test
    void serverCloseEndsSurvey() throws Exception {
        CountDownLatch described = new CountDownLatch(1);
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            Rank requester = ranks.rank(0);
            requester.state =
                    () -> {
                        described.countDown();
                        return new byte[0];
                    };
            try (ScriptedClient silent = new ScriptedClient(ranks)) {
                silent.send(new RendezvousMessage.Join(0, 2, RendezvousTestRanks.member(1)));
                requester.join();
                Future<?> survey =
                        ranks.async(() -> assertThat(requester.client.survey()).hasSize(2));
                described.await();
                ranks.server.close();

                survey.get();
            }
        }
    }

    @Test
    void surveyAfterLeaveFails() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(1)) {
            Rank rank = ranks.rank(0);
            assertThatThrownBy(rank.client::survey).isInstanceOf(IllegalStateException.class);
            rank.join();
            rank.client.leave(Map.of(), true, "called shutdown");
            assertThatThrownBy(rank.client::survey).isInstanceOf(ShutDownException.class);
        }
    }

    private static void describeByRank(Rank rank) {
        rank.state = () -> ("rank " + rank.info.rank()).getBytes(UTF_8);
    }

    static List<@Nullable String> texts(List<byte @Nullable []> answers) {
        List<@Nullable String> texts = new ArrayList<>();
        for (byte[] answer : answers) {
            texts.add(answer == null ? null : new String(answer, UTF_8));
        }
        return texts;
    }
}
