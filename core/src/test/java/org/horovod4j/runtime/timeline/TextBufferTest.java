package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class TextBufferTest {
    private final TextBuffer text = new TextBuffer(3);

    private String read() {
        return UTF_8.decode(text.view()).toString();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 9, 10, 12_345, 99_999_999_999L, Long.MAX_VALUE})
    void numbersAreWrittenAsJavaDoes(long number) {
        text.put(number);
        assertThat(read()).isEqualTo(Long.toString(number));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 7, 8, 1_001, 123_456_789})
    void timesAreWrittenAsText(long eighths) {
        TraceTime.put(eighths, text);
        assertThat(read()).isEqualTo(TraceTime.text(eighths));
    }

    @Test
    void truncatedTextIsDropped() {
        text.put("one".getBytes(UTF_8));
        int kept = text.length();
        text.put("two, three".getBytes(UTF_8)).truncate(kept);
        text.put(4);
        assertThat(read()).isEqualTo("one4");
    }
}
