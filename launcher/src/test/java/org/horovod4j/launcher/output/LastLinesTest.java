package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.stream.IntStream;

class LastLinesTest {
    private final LastLines last = new LastLines();

    @Test
    void oldestLinesAreDropped() {
        IntStream.range(0, LastLines.MAX_LINES + 2).forEach(i -> last.add("line " + i));
        assertThat(last.lines())
                .hasSize(LastLines.MAX_LINES)
                .startsWith("line 2")
                .endsWith("line " + (LastLines.MAX_LINES + 1));
    }

    @Test
    void deepStackTraceKeepsExceptionLine() {
        last.add("Exception in thread \"main\" java.lang.IllegalStateException: no such layer");
        IntStream.range(0, 40)
                .forEach(i -> last.add("\tat org.example.Deep.call(Deep.java:%d)".formatted(i)));
        last.add("Caused by: java.io.IOException: disk full");
        last.add("\tat org.example.Disk.write(Disk.java:7)");
        last.add("\t... 39 more");
        assertThat(last.lines())
                .containsExactly(
                        "Exception in thread \"main\" java.lang.IllegalStateException: no such layer",
                        "\tat org.example.Deep.call(Deep.java:0)",
                        "\tat org.example.Deep.call(Deep.java:1)",
                        "\t… 38 more frames",
                        "Caused by: java.io.IOException: disk full",
                        "\tat org.example.Disk.write(Disk.java:7)",
                        "\t... 39 more");
    }

    @Test
    void foldedStackTraceUsesOneLine() {
        IntStream.range(0, LastLines.MAX_LINES).forEach(i -> last.add("line " + i));
        IntStream.range(0, 9).forEach(_ -> last.add("    at x"));
        assertThat(last.lines())
                .containsExactly(
                        "line 3",
                        "line 4",
                        "line 5",
                        "line 6",
                        "line 7",
                        "line 8",
                        "line 9",
                        "    at x",
                        "    at x",
                        "\t… 7 more frames");
    }

    @Test
    void longLineIsTruncated() {
        last.add("x".repeat(LastLines.MAX_LINE_LENGTH + 1));
        assertThat(last.lines().getFirst()).hasSize(LastLines.MAX_LINE_LENGTH + 1).endsWith("…");
    }
}
