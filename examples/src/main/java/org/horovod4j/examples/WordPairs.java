package org.horovod4j.examples;

import java.util.Arrays;
import java.util.Random;

/// What skip-gram learns from: pairs of words that are neighbours in a text and, for each, pairs with
/// random words in place of the second (Mikolov and others, arXiv 1310.4546).
final class WordPairs {
    private static final int WINDOW = 3;
    private static final int NEGATIVES = 5;

    private final int[] words;
    private final int[] contexts;
    private int count;

    private WordPairs(int capacity) {
        words = new int[capacity];
        contexts = new int[capacity];
    }

    /// The pairs of the words at some places of a text.
    static WordPairs around(Vocabulary vocabulary, int[] places, Random random) {
        WordPairs pairs = new WordPairs(places.length * 2 * WINDOW * (1 + NEGATIVES));
        for (int place : places) {
            int from = Math.max(0, place - WINDOW);
            int to = Math.min(vocabulary.length() - 1, place + WINDOW);
            for (int other = from; other <= to; other++) {
                if (other != place) {
                    int word = vocabulary.wordAt(place);
                    pairs.add(word, vocabulary.wordAt(other));
                    for (int i = 0; i < NEGATIVES; i++) {
                        pairs.add(word, vocabulary.wordAt(random.nextInt(vocabulary.length())));
                    }
                }
            }
        }
        return pairs;
    }

    private void add(int word, int context) {
        words[count] = word;
        contexts[count] = context;
        count++;
    }

    int count() {
        return count;
    }

    /// How many pairs are neighbours.
    int neighbours() {
        return count / (1 + NEGATIVES);
    }

    int word(int pair) {
        return words[pair];
    }

    int context(int pair) {
        return contexts[pair];
    }

    /// 1 if the words are neighbours in the text, 0 if the second is a random one.
    int label(int pair) {
        return pair % (1 + NEGATIVES) == 0 ? 1 : 0;
    }

    int[] words() {
        return Arrays.copyOf(words, count);
    }

    int[] contexts() {
        return Arrays.copyOf(contexts, count);
    }

    float[] labels() {
        float[] labels = new float[count];
        for (int i = 0; i < count; i++) {
            labels[i] = label(i);
        }
        return labels;
    }
}
