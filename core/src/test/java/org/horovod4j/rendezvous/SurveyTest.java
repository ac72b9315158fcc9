package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ShutDownException;
import org.horovod4j.rendezvous.Ranks.Rank;
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
    void everyRankMayAskAtOnceAndHearsAll(int size) throws Exception {
        try (Ranks ranks = new Ranks(size)) {
            List<Rank> all = ranks.joined(0);
            all.forEach(SurveyTest::tellRank);
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
    void severalThreadsOfARankMayAsk() throws Exception {
        try (Ranks ranks = new Ranks(2)) {
            List<Rank> all = ranks.joined(0);
            all.forEach(SurveyTest::tellRank);
            List<Future<?>> asking = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                asking.add(
                        ranks.async(
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
    void aProgramThatHangsIsDescribedAllTheSame() throws Exception {
        try (Ranks ranks = new Ranks(2)) {
            List<Rank> all = ranks.joined(0);
            all.forEach(SurveyTest::tellRank);
            Rank stuck = all.getLast();
            Future<?> hanging = ranks.async(() -> stuck.client.gather("alone", new byte[0]));

            assertThat(texts(all.getFirst().client.survey())).containsExactly("rank 0", "rank 1");
            assertThat(hanging.isDone()).isFalse();
            all.getFirst().client.gather("alone", new byte[0]);
            hanging.get();
        }
    }

    @Test
    void aSilentRankIsPassedOver() throws Exception {
        try (Ranks ranks = new Ranks(2)) {
            Rank asking = ranks.rank(0);
            tellRank(asking);
            try (SilentClient silent = new SilentClient(ranks)) {
                silent.say(new Message.Join(0, 2, Ranks.card(1)));
                asking.join();

                assertThat(texts(asking.client.survey())).containsExactly("rank 0", null);

                assertThat(silent.hear()).isInstanceOf(Message.Joined.class);
                assertThat(silent.hear()).isEqualTo(new Message.Describe(0, 1));
                silent.say(new Message.Described(0, 1, "too late".getBytes(UTF_8)));
                Future<?> next =
                        ranks.async(
                                () ->
                                        assertThat(texts(asking.client.survey()))
                                                .containsExactly("rank 0", "in time"));
                assertThat(silent.hear()).isEqualTo(new Message.Describe(0, 2));
                silent.say(new Message.Described(0, 2, "in time".getBytes(UTF_8)));
                silent.say(new Message.Described(0, 2, "said twice".getBytes(UTF_8)));
                next.get();
            }
        }
    }

    @Test
    void aRankThatDiesMeanwhileEndsTheWaitingForIt() throws Exception {
        CountDownLatch described = new CountDownLatch(1);
        try (Ranks ranks = new Ranks(2)) {
            Rank asking = ranks.rank(0);
            SilentClient dying = new SilentClient(ranks);
            dying.say(new Message.Join(0, 2, Ranks.card(1)));
            asking.join();
            asking.state =
                    () -> {
                        described.countDown();
                        return new byte[0];
                    };
            Future<?> survey =
                    ranks.async(
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
    void whatCannotBeDescribedIsSaidAndWhatIsTooLongIsCut() throws Exception {
        try (Ranks ranks = new Ranks(2)) {
            List<Rank> all = ranks.joined(0);
            all.getFirst().state = () -> new byte[Description.MAX_BYTES + 1];
            all.getLast().state =
                    () -> {
                        throw new IllegalStateException("torn to pieces");
                    };

            List<byte @Nullable []> answers = all.getLast().client.survey();
            assertThat(answers.getFirst()).hasSize(Description.MAX_BYTES);
            assertThat(texts(answers).getLast())
                    .isEqualTo(
                            "could not describe its state: "
                                    + "java.lang.IllegalStateException: torn to pieces");
            assertThat(all.getFirst().losses).isEmpty();
        }
    }

    @Test
    void theServersEndEndsTheSurvey() throws Exception {
        CountDownLatch described = new CountDownLatch(1);
        try (Ranks ranks = new Ranks(2)) {
            Rank asking = ranks.rank(0);
            asking.state =
                    () -> {
                        described.countDown();
                        return new byte[0];
                    };
            try (SilentClient silent = new SilentClient(ranks)) {
                silent.say(new Message.Join(0, 2, Ranks.card(1)));
                asking.join();
                Future<?> survey = ranks.async(() -> assertThat(asking.client.survey()).hasSize(2));
                described.await();
                ranks.server.close();

                survey.get();
            }
        }
    }

    @Test
    void whoHasLeftCannotAsk() throws Exception {
        try (Ranks ranks = new Ranks(1)) {
            Rank rank = ranks.rank(0);
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
