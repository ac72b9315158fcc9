package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

class WordVectorsTest {
    /// A text of 2000 words, each of which occurs five times.
    private static final Vocabulary TEXT =
            Vocabulary.of(
                    IntStream.range(0, 2000)
                            .mapToObj(WordVectorsTest::word)
                            .map(word -> (word + " ").repeat(5))
                            .collect(Collectors.joining()));

    /// The digits of a number as letters.
    private static String word(int number) {
        return Integer.toString(1000 + number)
                .chars()
                .mapToObj(digit -> Character.toString('a' + digit - '0'))
                .collect(Collectors.joining());
    }

    /// The places 0 to 127, half of them on each rank, have the words 0 to 25.
    @Test
    void ranksChangeTheSameFewRows() {
        int dimensions = 4;
        ConcurrentHashMap<Integer, float[]> vectors = new ConcurrentHashMap<>();
        World.run(
                2,
                comm -> {
                    try (WordVectors words = new WordVectors(comm, TEXT, dimensions)) {
                        float[] before = words.vectors();
                        int first = 64 * comm.rank();
                        float loss =
                                words.step(
                                        WordPairs.around(
                                                TEXT,
                                                IntStream.range(first, first + 64).toArray(),
                                                new Random(comm.rank())));
                        assertThat(loss).isPositive();
                        assertThat(words.rowsOfLastStep()).isEqualTo(26);
                        float[] after = words.vectors();
                        for (int word = 0; word < TEXT.size(); word++) {
                            int from = word * dimensions;
                            assertThat(
                                            Arrays.equals(
                                                    before,
                                                    from,
                                                    from + dimensions,
                                                    after,
                                                    from,
                                                    from + dimensions))
                                    .as("row %d is unchanged", word)
                                    .isEqualTo(word >= 26);
                        }
                        vectors.put(comm.rank(), after);
                    }
                });
        assertThat(vectors.get(0)).containsExactly(vectors.get(1));
    }
}
