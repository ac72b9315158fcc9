package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.rendezvous.StateDescription.MAX_BYTES;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.testsupport.ByteFuzzer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

final class RendezvousMessageCodecTest {
    private static final RendezvousMessageCodec CODEC = RendezvousMessageCodec.INSTANCE;

    private static final RankInfo MEMBER =
            new RankInfo(
                    3,
                    "host-ä",
                    "machine",
                    "domain",
                    4711,
                    -4711,
                    "/memory",
                    List.of(
                            new InetSocketAddress("10.1.2.3", 80),
                            new InetSocketAddress("fd00::7", 65535),
                            InetSocketAddress.createUnresolved("outside.example", 1)));

    static Stream<RendezvousMessage> messages() {
        return Stream.of(
                new RendezvousMessage.Join(7, 16, MEMBER),
                new RendezvousMessage.Allgather("topic", new byte[] {1, 2, 3}),
                new RendezvousMessage.SurveyRequest(-7),
                new RendezvousMessage.DescribeReply(3, 7, new byte[] {1, 2}),
                new RendezvousMessage.Blocked(2, "called shutdown"),
                new RendezvousMessage.Leave(Map.of(), false, ""),
                new RendezvousMessage.Leave(
                        Map.of(0, 12L, 7, Long.MAX_VALUE), true, "called shutdown"),
                new RendezvousMessage.Refused("because"),
                new RendezvousMessage.Joined(List.of(MEMBER, MEMBER)),
                new RendezvousMessage.AllgatherResult("", List.of(new byte[0], new byte[] {9})),
                new RendezvousMessage.DescribeRequest(3, 7),
                new RendezvousMessage.SurveyAnswer(7, 2, new byte[] {4}),
                new RendezvousMessage.SurveyComplete(7),
                new RendezvousMessage.Lost(
                        new RankDeparture(2, "host", "killed", false, Map.of()), 99),
                new RendezvousMessage.Lost(
                        new RankDeparture(2, "host", "left", true, Map.of(5, 9L)), 99));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void everyMessageIsDecodedAsEncoded(RendezvousMessage rendezvousMessage) throws Exception {
        assertThat(CODEC.decode(CODEC.encode(rendezvousMessage)))
                .usingRecursiveComparison()
                .isEqualTo(rendezvousMessage);
    }

    @Test
    void bytesOfAnotherLengthAreRefused() {
        fuzzer().runOtherLengths();
    }

    @Test
    void corruptedBytesThrowOnlyMalformedMessage() {
        assertThat(fuzzer().run(ByteFuzzer.SHORT)).isPositive();
    }

    @Test
    @Tag("slow")
    void manyCorruptedBytesAreDecodedOrRefused() {
        assertThat(fuzzer().run(ByteFuzzer.LONG)).isPositive();
    }

    private static ByteFuzzer fuzzer() {
        return new ByteFuzzer(
                "RendezvousMessageCodec",
                messages().map(CODEC::encode).toList(),
                CODEC::decode,
                MalformedMessageException.class);
    }

    @Test
    void descriptionSizeLimitIsEnforced() throws Exception {
        byte[] longest =
                CODEC.encode(new RendezvousMessage.DescribeReply(0, 0, new byte[MAX_BYTES]));
        assertThat(CODEC.decode(longest)).isInstanceOf(RendezvousMessage.DescribeReply.class);
        assertThat(longest.length).isLessThan(RendezvousMessageCodec.MAX_CLIENT_BYTES);

        byte[] longer = Arrays.copyOf(longest, longest.length + 1);
        ByteBuffer.wrap(longer).putInt(1 + 2 * Integer.BYTES, MAX_BYTES + 1);
        assertThatThrownBy(() -> CODEC.decode(longer))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("a description of 262145 bytes");
    }

    @Test
    void completedOperationsOfTooManyProcessSetsAreMalformed() throws Exception {
        Map<Integer, Long> most =
                IntStream.range(0, RendezvousMessageCodec.MAX_PROCESS_SETS)
                        .boxed()
                        .collect(Collectors.toMap(Function.identity(), set -> (long) set));
        byte[] bytes = CODEC.encode(new RendezvousMessage.Leave(most, true, "x".repeat(10_000)));
        assertThat(bytes.length).isLessThan(RendezvousMessageCodec.MAX_CLIENT_BYTES);
        assertThat(CODEC.decode(bytes)).isInstanceOf(RendezvousMessage.Leave.class);

        Map<Integer, Long> more = new HashMap<>(most);
        more.put(-1, 1L);
        byte[] tooMany = CODEC.encode(new RendezvousMessage.Leave(more, true, ""));
        assertThatThrownBy(() -> CODEC.decode(tooMany))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("65537 process sets");
    }

    @Test
    void duplicateProcessSetIsMalformed() {
        byte[] bytes = CODEC.encode(new RendezvousMessage.Leave(Map.of(1, 5L, 2, 6L), true, ""));
        int entries = 1 + Integer.BYTES;
        int first = ByteBuffer.wrap(bytes).getInt(entries);
        ByteBuffer.wrap(bytes).putInt(entries + Integer.BYTES + Long.BYTES, first);

        assertThatThrownBy(() -> CODEC.decode(bytes))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("process set " + first + " appears twice");
    }
}
