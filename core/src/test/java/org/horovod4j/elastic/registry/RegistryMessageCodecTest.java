package org.horovod4j.elastic.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Random;

/// Words as bytes and back, and bytes that are no words.
final class RegistryMessageCodecTest {
    private static final int MUTATIONS = 20_000;

    static List<RegistryMessage> words() {
        return List.of(
                new RegistryMessage.Heartbeat(),
                new RegistryMessage.Ready(0, -1, ""),
                new RegistryMessage.Ready(
                        12, 3, "rank 2 on beta is lost: killed by signal 9 – \u00fc"),
                new RegistryMessage.Assigned(
                        new WorkerPlacement(4, 2, 6, 1, 3, 0, 2, true), Long.MAX_VALUE),
                new RegistryMessage.Dismissed("no host has room for it"),
                new RegistryMessage.HostsUpdated(17),
                new RegistryMessage.Welcome(true),
                new RegistryMessage.Welcome(false));
    }

    @ParameterizedTest
    @MethodSource("words")
    void everyMessageRoundTrips(RegistryMessage registryMessage) throws IOException {
        assertThat(read(bytes(registryMessage))).isEqualTo(registryMessage);
    }

    @Test
    void longReasonIsTruncated() throws IOException {
        RegistryMessage registryMessage =
                read(bytes(new RegistryMessage.Dismissed("x".repeat(1 << 20))));
        assertThat(registryMessage).isEqualTo(new RegistryMessage.Dismissed("x".repeat(10_000)));
    }

    @Test
    void corruptedBytesGiveAMessageOrIoException() throws IOException {
        long seed = Long.getLong("horovod4j.seed", System.nanoTime());
        System.out.println("WordCodecTest: -Dhorovod4j.seed=" + seed);
        Random random = new Random(seed);
        List<RegistryMessage> words = words();
        int refused = 0;
        for (int i = 0; i < MUTATIONS; i++) {
            byte[] spoilt = bytes(words.get(random.nextInt(words.size())));
            for (int change = random.nextInt(3); change >= 0; change--) {
                spoilt[random.nextInt(spoilt.length)] = (byte) random.nextInt();
            }
            try {
                assertThat(read(spoilt)).isNotNull();
            } catch (IOException e) {
                refused++;
            }
        }
        assertThat(refused).isGreaterThan(MUTATIONS / 4);
    }

    @Test
    void oversizedLengthAllocatesNoMemory() {
        byte[] huge = {0x7f, -1, -1, -1};
        assertThatThrownBy(() -> read(huge)).hasMessageContaining("a frame of 2147483647 bytes");
    }

    private static byte[] bytes(RegistryMessage registryMessage) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        RegistryMessageCodec.write(registryMessage, new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    private static RegistryMessage read(byte[] bytes) throws IOException {
        return RegistryMessageCodec.read(new DataInputStream(new ByteArrayInputStream(bytes)));
    }
}
