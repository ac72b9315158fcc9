package org.horovod4j.launcher.output;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;

class LinePrefixerTest {
    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
    private final LastLines last = new LastLines();

    private LinePrefixer prefixer(StandardStream standardStream, String unwanted) {
        LauncherConsole launcherConsole = new LauncherConsole(screen, screen);
        return new LinePrefixer(
                OutputTargets.ofConsole(launcherConsole).source(3),
                standardStream,
                new OutputSource.StderrLineFilter(last, unwanted));
    }

    private static void feed(LinePrefixer prefixer, String text) {
        byte[] bytes = text.getBytes(UTF_8);
        prefixer.onBytes(bytes, bytes.length);
    }

    private String shown() {
        return screen.toString(UTF_8);
    }

    @ParameterizedTest(name = "in chunks of {0} bytes")
    @ValueSource(ints = {1, 2, 3, 5, 7, 1000})
    void charactersSurviveAnyChunking(int chunk) {
        byte[] bytes = "naïve – 北京 – 🙂\nzweite Zeile ü\n".getBytes(UTF_8);
        LinePrefixer prefixer = prefixer(StandardStream.STDOUT, "");
        for (int at = 0; at < bytes.length; at += chunk) {
            int length = Math.min(chunk, bytes.length - at);
            byte[] part = new byte[chunk];
            System.arraycopy(bytes, at, part, 0, length);
            prefixer.onBytes(part, length);
        }
        prefixer.onEnd();
        assertThat(shown()).isEqualTo("[3]<stdout>:naïve – 北京 – 🙂\n[3]<stdout>:zweite Zeile ü\n");
    }

    @Test
    void invalidUtf8PassesUnchanged() {
        LinePrefixer prefixer = prefixer(StandardStream.STDOUT, "");
        prefixer.onBytes(new byte[] {(byte) 0xff, 0, (byte) 0xc3, '\n'}, 4);
        assertThat(screen.toByteArray()).endsWith((byte) 0xff, 0, (byte) 0xc3, '\n');
    }

    @Test
    void progressBarShowsEachState() {
        LinePrefixer prefixer = prefixer(StandardStream.STDERR, "");
        feed(prefixer, "10 %\r");
        assertThat(shown()).isEqualTo("[3]<stderr>:10 %\r");
        feed(prefixer, "20 %\r30 %\rdone\n");
        assertThat(shown())
                .isEqualTo(
                        "[3]<stderr>:10 %\r[3]<stderr>:20 %\r[3]<stderr>:30 %\r[3]<stderr>:done\n");
        assertThat(last.lines()).containsExactly("done");
    }

    @Test
    void windowsLineEndIsOneLineEnd() {
        LinePrefixer prefixer = prefixer(StandardStream.STDOUT, "");
        feed(prefixer, "a\r\nb\r");
        feed(prefixer, "\nc\n");
        assertThat(shown()).isEqualTo("[3]<stdout>:a\r\n[3]<stdout>:b\r\n[3]<stdout>:c\n");
    }

    @Test
    void lineIsPrintedWhenItEnds() {
        LinePrefixer prefixer = prefixer(StandardStream.STDOUT, "");
        feed(prefixer, "one\ntw");
        assertThat(shown()).isEqualTo("[3]<stdout>:one\n");
        feed(prefixer, "o\n");
        assertThat(shown()).isEqualTo("[3]<stdout>:one\n[3]<stdout>:two\n");
    }

    @Test
    void lastLineWithoutLineFeedIsPrinted() {
        LinePrefixer prefixer = prefixer(StandardStream.STDOUT, "");
        feed(prefixer, "\nlast");
        prefixer.onEnd();
        assertThat(shown()).isEqualTo("[3]<stdout>:\n[3]<stdout>:last\n");
    }

    @Test
    void emptyInputPrintsNothing() {
        LinePrefixer prefixer = prefixer(StandardStream.STDOUT, "");
        feed(prefixer, "");
        prefixer.onEnd();
        assertThat(shown()).isEmpty();
    }

    @Test
    void endlessLineIsSplit() {
        LinePrefixer prefixer = prefixer(StandardStream.STDOUT, "");
        feed(prefixer, "x".repeat(LinePrefixer.MAX_LINE_BYTES + 1));
        assertThat(shown()).hasSize(LinePrefixer.MAX_LINE_BYTES + 1 + "[3]<stdout>:\n".length());
    }

    @Test
    void unwantedLineIsDroppedOnce() {
        LinePrefixer prefixer = prefixer(StandardStream.STDERR, "noise");
        feed(prefixer, "noise here\nnoise\nnoise\n");
        assertThat(shown()).isEqualTo("[3]<stderr>:noise here\n[3]<stderr>:noise\n");
    }

    @Test
    void lastTenLinesAreKept() {
        LinePrefixer prefixer = prefixer(StandardStream.STDERR, "");
        for (int line = 1; line <= 12; line++) {
            feed(prefixer, "line " + line + "\n");
        }
        assertThat(last.lines()).hasSize(10).startsWith("line 3").endsWith("line 12");
    }

    @Test
    void linesOfOneChunkAreOneWrite() {
        int[] writes = new int[1];
        OutputStream counting =
                new OutputStream() {
                    @Override
                    public void write(int b) {
                        throw new AssertionError("byte by byte");
                    }

                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        writes[0]++;
                    }
                };
        LinePrefixer prefixer =
                new LinePrefixer(
                        OutputTargets.ofConsole(new LauncherConsole(counting, counting)).source(0),
                        StandardStream.STDOUT,
                        _ -> true);
        feed(prefixer, "a\nb\nc\r");
        assertThat(writes[0]).isOne();
    }
}
