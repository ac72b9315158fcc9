package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShellWordsTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '#',
            quoteCharacter = '~',
            value = {
                "~~                  # ~~",
                "~  a   b~           # a;b",
                "~'a b' c~           # a b;c",
                "~\"a 'b\" c~        # a 'b;c",
                "~a'b c'd~           # ab cd",
                "~a\\ b \\'~         # a b;'",
                "~'a\\b'~            # a\\b",
                "~x '' y~            # x;;y",
            })
    void textIsSplitLikeShell(String text, String words) {
        assertThat(String.join(";", ShellWords.split("--x", text))).isEqualTo(words);
    }

    @ParameterizedTest
    @ValueSource(strings = {"'a", "a \"b", "'"})
    void openQuoteIsRejected(String text) {
        assertThatThrownBy(() -> ShellWords.split("--x", text))
                .hasMessageContaining("--x: the quote")
                .hasMessageContaining("is not closed");
    }
}
