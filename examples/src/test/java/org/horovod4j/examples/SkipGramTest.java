package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.concurrent.ConcurrentHashMap;

class SkipGramTest {
    /// Two groups of words that meet only once.
    private static final Vocabulary TEXT =
            Vocabulary.of(
                    "red green blue red blue green ".repeat(60)
                            + "one two six two one six ".repeat(60));

    @Test
    void vocabularyHasFrequentWordsFirst() {
        Vocabulary vocabulary = Vocabulary.of("a bb cc cc bb dd ".repeat(3) + "cc bb cc");
        assertThat(vocabulary.words()).containsExactly("cc", "bb");
        assertThat(vocabulary.length()).isEqualTo(15);
        assertThat(vocabulary.wordAt(0)).isOne();
        assertThat(vocabulary.wordAt(1)).isZero();
    }

    @Test
    void ranksLearnTheSameVectorsOfNeighbours() {
        ConcurrentHashMap<Integer, float[]> vectors = new ConcurrentHashMap<>();
        World.run(
                2,
                comm -> {
                    SkipGram skipGram = new SkipGram(comm, TEXT, 8);
                    double first = skipGram.train(0);
                    double last = first;
                    for (int epoch = 1; epoch < 100; epoch++) {
                        last = skipGram.train(epoch);
                    }
                    assertThat(last).isLessThan(first);
                    assertThat(skipGram.nearest(TEXT.words().indexOf("red"), 2))
                            .containsExactlyInAnyOrder("green", "blue");
                    vectors.put(comm.rank(), skipGram.vectors());
                });
        assertThat(vectors.get(0)).containsExactly(vectors.get(1));
    }
}
