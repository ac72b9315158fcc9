package org.horovod4j.elastic.desk;

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
final class WordCodecTest {
    private static final int MUTATIONS = 20_000;

    static List<Word> words() {
        return List.of(
                new Word.Alive(),
                new Word.Ready(0, -1, ""),
                new Word.Ready(12, 3, "rank 2 on beta is lost: killed by signal 9 – \u00fc"),
                new Word.Assigned(new Place(4, 2, 6, 1, 3, 0, 2, true), Long.MAX_VALUE),
                new Word.Dismissed("no host has room for it"),
                new Word.HostsUpdated(17),
                new Word.Welcome(true),
                new Word.Welcome(false));
    }

    @ParameterizedTest
    @MethodSource("words")
    void everyWordComesBack(Word word) throws IOException {
        assertThat(read(bytes(word))).isEqualTo(word);
    }

    @Test
    void aLongReasonIsCutToFit() throws IOException {
        Word word = read(bytes(new Word.Dismissed("x".repeat(1 << 20))));
        assertThat(word).isEqualTo(new Word.Dismissed("x".repeat(10_000)));
    }

    @Test
    void spoiltBytesGiveAWordOrAnIoException() throws IOException {
        long seed = Long.getLong("horovod4j.seed", System.nanoTime());
        System.out.println("WordCodecTest: -Dhorovod4j.seed=" + seed);
        Random random = new Random(seed);
        List<Word> words = words();
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
    void aBareLengthCostsNoMemory() {
        byte[] huge = {0x7f, -1, -1, -1};
        assertThatThrownBy(() -> read(huge)).hasMessageContaining("a frame of 2147483647 bytes");
    }

    private static byte[] bytes(Word word) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        WordCodec.write(word, new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    private static Word read(byte[] bytes) throws IOException {
        return WordCodec.read(new DataInputStream(new ByteArrayInputStream(bytes)));
    }
}
