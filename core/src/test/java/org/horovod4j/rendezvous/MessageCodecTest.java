package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

final class MessageCodecTest {
    private static final Member MEMBER =
            new Member(
                    3,
                    "host-ä",
                    "domain",
                    4711,
                    "/memory",
                    List.of(
                            new InetSocketAddress("10.1.2.3", 80),
                            new InetSocketAddress("fd00::7", 65535),
                            InetSocketAddress.createUnresolved("outside.example", 1)));

    static Stream<Message> messages() {
        return Stream.of(
                new Message.Heartbeat(),
                new Message.Join(7, 16, MEMBER),
                new Message.Gather("topic", new byte[] {1, 2, 3}),
                new Message.Alarm(Long.MAX_VALUE),
                new Message.Leave(12, true, "called shutdown"),
                new Message.Refused("because"),
                new Message.Joined(List.of(MEMBER, MEMBER)),
                new Message.Gathered("", List.of(new byte[0], new byte[] {9})),
                new Message.Disputed(-1),
                new Message.Lost(new Loss(2, "host", "killed", false, 0), 99));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void everyMessageSurvives(Message message) throws Exception {
        assertThat(MessageCodec.decode(MessageCodec.encode(message)))
                .usingRecursiveComparison()
                .isEqualTo(message);
    }

    @ParameterizedTest
    @MethodSource("messages")
    void everyTruncationIsNoticed(Message message) {
        byte[] whole = MessageCodec.encode(message);
        for (int length = 0; length < whole.length; length++) {
            byte[] part = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> MessageCodec.decode(part))
                    .isInstanceOf(MalformedMessageException.class);
        }
        assertThatThrownBy(() -> MessageCodec.decode(Arrays.copyOf(whole, whole.length + 1)))
                .isInstanceOf(MalformedMessageException.class);
    }

    @Test
    void garbageIsMalformedAndNothingWorse() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[random.nextInt(60)];
            random.nextBytes(bytes);
            if (bytes.length > 0) {
                bytes[0] = (byte) random.nextInt(11);
            }
            try {
                assertThat(MessageCodec.decode(bytes)).isNotNull();
            } catch (MalformedMessageException expected) {
                assertThat(expected).as("seed %d", seed).hasMessageMatching("(?s).+");
            }
        }
    }
}
