package org.horovod4j.launcher;

import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/// A message in the sources, with gaps for the values that vary.
///
/// @param file the source file
/// @param words the words of the text; [#GAP] marks a value
record MessageTemplate(String file, List<String> words) {
    static final String GAP = "\u0000";

    private static final String ELLIPSIS = "…";
    private static final Pattern PLACEHOLDER =
            Pattern.compile("%(\\d+\\$)?[-+0,]*\\d*(\\.\\d+)?[sdf]|\\{\\d\\}");
    private static final Pattern WORD = Pattern.compile("[('\"]*[A-Za-z-]+[.,:;)'\"]*");

    /// Shorter texts are names, fragments and punctuation.
    private static final int MIN_WORDS = 3;

    MessageTemplate {
        words = List.copyOf(words);
    }

    MessageTemplate(String file, String text) {
        this(
                file,
                split(
                        PLACEHOLDER
                                .matcher(text.replace("%n", " ").replace("%%", "%"))
                                .replaceAll(GAP)));
    }

    /// The words of a text without punctuation at their ends, because a quote may end anywhere.
    static List<String> split(String text) {
        return Arrays.stream(text.split("\\s+", -1))
                .map(word -> word.replaceAll("[.,:;]+$", ""))
                .filter(word -> !word.isEmpty())
                .toList();
    }

    /// Whether the text is a sentence, not a name, a pattern or a part of a command.
    boolean isSentence() {
        return plainWords() >= MIN_WORDS;
    }

    /// The number of words without gaps, numbers and symbols.
    long plainWords() {
        return words.stream().filter(word -> WORD.matcher(word).matches()).count();
    }

    /// Whether a quote matches this message or a part of it with several of its words.
    ///
    /// @param quoted the words of the quote, see [#split]; "…" matches anything
    boolean isQuotedBy(List<String> quoted) {
        if (quoted.stream().filter(words::contains).limit(MIN_WORDS).count() < MIN_WORDS) {
            return false; // most pairs end here, so the search below may be slow
        }
        for (int from = 0; from < words.size(); from++) {
            if (fits(from, quoted, 0, 0)) {
                return true;
            }
        }
        return false;
    }

    /// Whether the rest of a quote matches the rest of this message, or its beginning.
    ///
    /// @param same the number of equal words so far
    private boolean fits(int at, List<String> quoted, int from, int same) {
        if (from == quoted.size()) {
            return same >= MIN_WORDS;
        }
        if (quoted.get(from).equals(ELLIPSIS)) {
            for (int to = at; to <= words.size(); to++) {
                if (fits(to, quoted, from + 1, same)) {
                    return true;
                }
            }
            return false;
        }
        if (at == words.size()) {
            return false;
        }
        String word = words.get(at);
        if (!word.contains(GAP)) {
            return word.equals(quoted.get(from)) && fits(at + 1, quoted, from + 1, same + 1);
        }
        for (int to = from + 1; to <= quoted.size(); to++) {
            if (fills(String.join(" ", quoted.subList(from, to)), word)
                    && fits(at + 1, quoted, to, same)) {
                return true;
            }
        }
        return false;
    }

    /// Whether a word with gaps matches this text.
    private static boolean fills(String text, String word) {
        if (text.contains(ELLIPSIS)) {
            return true;
        }
        String pattern =
                Arrays.stream(word.split(GAP, -1))
                        .map(part -> part.replaceAll("[.,:;]+$", ""))
                        .map(Pattern::quote)
                        .collect(Collectors.joining(".*"));
        return text.matches(pattern);
    }

    @Override
    public String toString() {
        return file + ": " + String.join(" ", words).replace(GAP, ELLIPSIS);
    }
}
