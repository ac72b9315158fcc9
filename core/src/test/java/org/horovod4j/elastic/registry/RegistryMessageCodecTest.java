package org.horovod4j.elastic.registry;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.frame.MalformedMessageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.Arrays;
import java.util.List;
import java.util.Random;

final class RegistryMessageCodecTest {
    private static final int MUTATIONS = 20_000;
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
    void corruptedBytesThrowOnlyMalformedMessage() {
        long seed = Long.getLong("horovod4j.seed", System.nanoTime());
        System.out.println("RegistryMessageCodecTest: -Dhorovod4j.seed=" + seed);
        Random random = new Random(seed);
        List<RegistryMessage> messages = messages();
        int refused = 0;
        for (int i = 0; i < MUTATIONS; i++) {
            byte[] whole = CODEC.encode(messages.get(random.nextInt(messages.size())));
            byte[] corrupted = Arrays.copyOf(whole, whole.length + random.nextInt(3) - 1);
            for (int change = random.nextInt(3); change > 0 && corrupted.length > 0; change--) {
                corrupted[random.nextInt(corrupted.length)] = (byte) random.nextInt();
            }
            try {
                assertThat(CODEC.decode(corrupted)).isNotNull();
            } catch (MalformedMessageException e) {
                refused++;
            }
        }
        assertThat(refused).isBetween(MUTATIONS / 2, MUTATIONS - 1);
    }
}
