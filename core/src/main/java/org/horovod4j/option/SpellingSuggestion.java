package org.horovod4j.option;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/// Suggests the correct name for a misspelled one.
public final class SpellingSuggestion {
    /// A name that differs in more than a third of its letters is another name.
    private static final int LETTERS_PER_CHANGE = 3;

    /// Swapping two letters, the most common typo, takes two changes.
    private static final int MIN_ALLOWED_CHANGES = 2;

    private SpellingSuggestion() {}

    /// " Did you mean …?", to follow a sentence that rejects `word`; empty if no candidate is near.
    ///
    /// @param prefix how many leading letters all names share
    public static String question(String word, Collection<String> candidates, int prefix) {
        return nearest(word, candidates, prefix).map(" Did you mean %s?"::formatted).orElse("");
    }

    /// The candidate with the fewest changes to `word`, if they are few enough.
    private static Optional<String> nearest(
            String word, Collection<String> candidates, int prefix) {
        int most = Math.max(MIN_ALLOWED_CHANGES, (word.length() - prefix) / LETTERS_PER_CHANGE);
        return candidates.stream()
                .filter(candidate -> editDistance(word, candidate) <= most)
                .min(Comparator.comparingInt(candidate -> editDistance(word, candidate)));
    }

    /// The Levenshtein distance: letters to insert, delete or replace. Takes time proportional to
    /// the product of the lengths, and keeps one row of the table.
    static int editDistance(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int j = 0; j <= to.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[to.length()];
    }
}
