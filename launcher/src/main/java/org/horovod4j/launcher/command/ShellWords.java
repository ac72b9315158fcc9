package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;

import java.util.ArrayList;
import java.util.List;

/// Splits a text into words like a shell: at white space, but not within quotes or after a
/// backslash. Nothing is expanded.
final class ShellWords {
    private static final char NONE = 0;

    private final List<String> words = new ArrayList<>();
    private final StringBuilder word = new StringBuilder();
    private boolean isInWord;
    private char quote = NONE;

    private ShellWords() {}

    /// @param origin where the text comes from, for errors
    /// @throws ConfigurationException if a quote is not closed
    static List<String> split(String origin, String text) {
        ShellWords shellWords = new ShellWords();
        for (int at = 0; at < text.length(); at++) {
            char next = text.charAt(at);
            if (next == '\\' && shellWords.quote != '\'' && at + 1 < text.length()) {
                at++;
                shellWords.add(text.charAt(at));
            } else {
                shellWords.take(next);
            }
        }
        if (shellWords.quote != NONE) {
            throw new ConfigurationException(
                    "%s: the quote %s is not closed in: %s"
                            .formatted(origin, shellWords.quote, text));
        }
        shellWords.end();
        return List.copyOf(shellWords.words);
    }

    private void take(char next) {
        if (next == quote) {
            quote = NONE;
        } else if (quote != NONE) {
            add(next);
        } else if (next == '\'' || next == '"') {
            quote = next;
            isInWord = true; // also for empty quotes
        } else if (Character.isWhitespace(next)) {
            end();
        } else {
            add(next);
        }
    }

    private void add(char letter) {
        word.append(letter);
        isInWord = true;
    }

    private void end() {
        if (isInWord) {
            words.add(word.toString());
            word.setLength(0);
            isInWord = false;
        }
    }
}
