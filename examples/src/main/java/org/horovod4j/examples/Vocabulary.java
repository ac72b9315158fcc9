package org.horovod4j.examples;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// The words of a text that occur several times, the most frequent first, and the text as their
/// numbers.
final class Vocabulary {
    private static final int MIN_OCCURRENCES = 5;

    private final List<String> words;
    private final int[] text;

    private Vocabulary(List<String> words, int[] text) {
        this.words = words;
        this.text = text;
    }

    static Vocabulary of(String text) {
        List<String> tokens =
                Stream.of(text.toLowerCase(Locale.ROOT).split("[^\\p{L}]+"))
                        .filter(word -> word.length() > 1)
                        .toList();
        Map<String, Long> counts =
                tokens.stream()
                        .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
        List<String> words =
                counts.entrySet().stream()
                        .filter(entry -> entry.getValue() >= MIN_OCCURRENCES)
                        .sorted(
                                Map.Entry.<String, Long>comparingByValue()
                                        .reversed()
                                        .thenComparing(Map.Entry.comparingByKey()))
                        .map(Map.Entry::getKey)
                        .toList();
        Map<String, Integer> numbers =
                IntStream.range(0, words.size())
                        .boxed()
                        .collect(Collectors.toMap(words::get, Function.identity()));
        return new Vocabulary(
                words,
                tokens.stream().filter(numbers::containsKey).mapToInt(numbers::get).toArray());
    }

    List<String> words() {
        return words;
    }

    /// The number of words.
    int size() {
        return words.size();
    }

    /// The length of the text, without the words that are left out.
    int length() {
        return text.length;
    }

    /// The number of the word at a place of the text.
    int wordAt(int place) {
        return text[place];
    }

    /// The words with the most similar vectors.
    ///
    /// @param vectors of all words, one after the other
    List<String> nearest(float[] vectors, int word, int count) {
        return IntStream.range(0, size())
                .filter(other -> other != word)
                .boxed()
                .sorted(Comparator.comparingDouble(other -> -cosine(vectors, word, other)))
                .limit(count)
                .map(words::get)
                .toList();
    }

    private double cosine(float[] vectors, int word, int other) {
        return dot(vectors, word, other)
                / Math.sqrt(dot(vectors, word, word) * dot(vectors, other, other));
    }

    private double dot(float[] vectors, int word, int other) {
        int dimensions = vectors.length / size();
        double sum = 0;
        for (int i = 0; i < dimensions; i++) {
            sum += vectors[word * dimensions + i] * vectors[other * dimensions + i];
        }
        return sum;
    }
}
