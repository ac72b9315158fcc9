package org.horovod4j.text;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MessageTextTest {
    @ParameterizedTest
    @CsvSource({
        "1, worker, 1 worker",
        "0, worker, 0 workers",
        "2, worker, 2 workers",
        "1, process, 1 process",
        "3, process, 3 processes"
    })
    void numberAgreesWithNoun(int number, String noun, String text) {
        assertThat(MessageText.count(number, noun)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"exit code 3, exit code 3.", "Disk full., Disk full.", "Why?, Why?", "'a\n', a."})
    void sentenceHasOneFullStop(String text, String sentence) {
        assertThat(MessageText.sentence(text)).isEqualTo(sentence);
    }

    @Test
    void sentenceMayHaveSeveralLines() {
        assertThat(MessageText.sentence("one.\ntwo")).isEqualTo("one.\ntwo.");
        assertThat(MessageText.sentence("one\ntwo.")).isEqualTo("one\ntwo.");
    }
}
