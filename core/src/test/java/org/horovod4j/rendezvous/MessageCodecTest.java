package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.rendezvous.Description.MAX_BYTES;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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
                new Message.Survey(-7),
                new Message.Described(3, 7, new byte[] {1, 2}),
                new Message.Leave(Map.of(), false, ""),
                new Message.Leave(Map.of(0, 12L, 7, Long.MAX_VALUE), true, "called shutdown"),
                new Message.Refused("because"),
                new Message.Joined(List.of(MEMBER, MEMBER)),
                new Message.Gathered("", List.of(new byte[0], new byte[] {9})),
                new Message.Describe(3, 7),
                new Message.Answer(7, 2, new byte[] {4}),
                new Message.Surveyed(7),
                new Message.Lost(new Loss(2, "host", "killed", false, Map.of()), 99),
                new Message.Lost(new Loss(2, "host", "left", true, Map.of(5, 9L)), 99));
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
                bytes[0] = (byte) random.nextInt(14);
            }
            try {
                assertThat(MessageCodec.decode(bytes)).isNotNull();
            } catch (MalformedMessageException expected) {
                assertThat(expected).as("seed %d", seed).hasMessageMatching("(?s).+");
            }
        }
    }

    @Test
    void theLongestDescriptionSurvivesAndOneByteMoreDoesNot() throws Exception {
        byte[] longest = MessageCodec.encode(new Message.Described(0, 0, new byte[MAX_BYTES]));
        assertThat(MessageCodec.decode(longest)).isInstanceOf(Message.Described.class);
        assertThat(longest.length).isLessThan(Frames.CLIENT_LIMIT);

        byte[] longer = Arrays.copyOf(longest, longest.length + 1);
        ByteBuffer.wrap(longer).putInt(1 + 2 * Integer.BYTES, MAX_BYTES + 1);
        assertThatThrownBy(() -> MessageCodec.decode(longer))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("a description of 262145 bytes");
    }

    @Test
    void completedOperationsOfTooManyProcessSetsAreMalformed() throws Exception {
        Map<Integer, Long> most =
                IntStream.range(0, MessageCodec.MAX_PROCESS_SETS)
                        .boxed()
                        .collect(Collectors.toMap(Function.identity(), set -> (long) set));
        byte[] bytes = MessageCodec.encode(new Message.Leave(most, true, "x".repeat(10_000)));
        assertThat(bytes.length).isLessThan(Frames.CLIENT_LIMIT);
        assertThat(MessageCodec.decode(bytes)).isInstanceOf(Message.Leave.class);

        Map<Integer, Long> more = new HashMap<>(most);
        more.put(-1, 1L);
        byte[] tooMany = MessageCodec.encode(new Message.Leave(more, true, ""));
        assertThatThrownBy(() -> MessageCodec.decode(tooMany))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("65537 process sets");
    }

    @Test
    void aProcessSetThatComesTwiceIsMalformed() {
        byte[] bytes = MessageCodec.encode(new Message.Leave(Map.of(1, 5L, 2, 6L), true, ""));
        int entries = 1 + Integer.BYTES;
        int first = ByteBuffer.wrap(bytes).getInt(entries);
        ByteBuffer.wrap(bytes).putInt(entries + Integer.BYTES + Long.BYTES, first);

        assertThatThrownBy(() -> MessageCodec.decode(bytes))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("process set " + first + " comes twice");
    }
}
