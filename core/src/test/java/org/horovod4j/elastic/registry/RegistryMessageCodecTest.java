package org.horovod4j.elastic.registry;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.testsupport.ByteFuzzer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;

final class RegistryMessageCodecTest {
    private static final RegistryMessageCodec CODEC = RegistryMessageCodec.INSTANCE;

    static List<RegistryMessage> messages() {
        return List.of(
                new RegistryMessage.Ready(0, -1, ""),
                new RegistryMessage.Ready(
                        12, 3, "rank 2 on beta is lost: killed by signal 9 – \u00fc"),
                new RegistryMessage.Assigned(
                        new WorkerPlacement(4, 2, 6, 1, 3, 0, 2, true), Long.MAX_VALUE),
                new RegistryMessage.Dismissed("no host has a free slot"),
                new RegistryMessage.HostsUpdated(17),
                new RegistryMessage.Welcome(true),
                new RegistryMessage.Welcome(false));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void everyMessageIsDecodedAsEncoded(RegistryMessage message) throws Exception {
        assertThat(CODEC.decode(CODEC.encode(message))).isEqualTo(message);
    }

    @Test
    void longReasonIsTruncated() throws Exception {
        RegistryMessage message = new RegistryMessage.Dismissed("x".repeat(1 << 20));
        assertThat(CODEC.decode(CODEC.encode(message)))
                .isEqualTo(new RegistryMessage.Dismissed("x".repeat(10_000)));
    }

    @Test
    void bytesOfAnotherLengthAreRefused() {
        fuzzer().runOtherLengths();
    }

    @Test
    void corruptedBytesThrowOnlyMalformedMessage() {
        assertThat(fuzzer().run(ByteFuzzer.SHORT))
                .isBetween(ByteFuzzer.SHORT / 2, ByteFuzzer.SHORT - 1);
    }

    @Test
    @Tag("slow")
    void manyCorruptedBytesAreDecodedOrRefused() {
        assertThat(fuzzer().run(ByteFuzzer.LONG)).isPositive();
    }

    private static ByteFuzzer fuzzer() {
        return new ByteFuzzer(
                "RegistryMessageCodec",
                messages().stream().map(CODEC::encode).toList(),
                CODEC::decode,
                MalformedMessageException.class);
    }
}
