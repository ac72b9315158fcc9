package org.horovod4j.launcher.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.process.OutputReader;

import java.io.ByteArrayOutputStream;
import java.util.function.Predicate;
import java.util.function.Supplier;

/// Cuts one stream of one rank into lines and puts `[rank]<stream>:` before each, with the rank
/// that its process has at that moment. A file of the stream gets the same lines without that mark,
/// as its name says it.
///
/// A line ends with a line feed or, for progress bars, a carriage return; it is passed on as soon
/// as it has ended and not before, so that lines of different ranks cannot mix. Only these two
/// bytes are looked for, and in UTF-8 neither occurs inside a longer character, so a character
/// split over two reads survives.
///
/// Two exceptions to "bytes pass unchanged": a last line without an end gains a line feed, or the
/// next rank's prefix would not start a line; and a line of more than [#MAX_LINE_BYTES] bytes is
/// broken, or a program that never ends its line would fill the launcher's memory.
final class LinePrefixer implements OutputReader.Receiver {
    static final int MAX_LINE_BYTES = 1 << 20;

    private final OutputSource source;
    private final StandardStream standardStream;
    private final LauncherConsole launcherConsole;
    private final OutputFiles.OutputFile file;
    private final Supplier<String> timestamp;
    private final Predicate<byte[]> filter;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private final ByteArrayOutputStream ready = new ByteArrayOutputStream();
    private final ByteArrayOutputStream readyForFile = new ByteArrayOutputStream();
    private boolean afterCarriageReturn;

    /// @param filter asked for each line ended by a line feed: whether it may be printed
    LinePrefixer(
            OutputSource outputSource,
            StandardStream standardStream,
            OutputTargets outputTargets,
            Predicate<byte[]> filter) {
        this.source = outputSource;
        this.standardStream = standardStream;
        this.launcherConsole = outputTargets.launcherConsole();
        this.file = outputTargets.file(outputSource.number(), standardStream);
        this.timestamp = outputTargets.timestamp();
        this.filter = filter;
    }

    /// Takes the next bytes and prints the lines they end, in one write.
    @Override
    public void onBytes(byte[] bytes, int length) {
        int start = 0;
        if (length > 0 && afterCarriageReturn) {
            // A Windows line end cut in two: its first half is already on the screen.
            start = bytes[0] == '\n' ? 1 : 0;
            ready.write(bytes, 0, start);
            readyForFile.write(bytes, 0, start);
            afterCarriageReturn = false;
        }
        for (int at = start; at < length; at++) {
            if (bytes[at] == '\n') {
                start = endLine(bytes, start, at + 1);
            } else if (bytes[at] == '\r' && (at + 1 == length || bytes[at + 1] != '\n')) {
                start = endProgress(bytes, start, at + 1);
                afterCarriageReturn = at + 1 == length;
            }
        }
        line.write(bytes, start, length - start);
        if (line.size() > MAX_LINE_BYTES) {
            breakLine();
        }
        print();
    }

    /// Prints what is left, a line without an end: the stream is over.
    @Override
    public void onEnd() {
        breakLine();
        print();
    }

    private void breakLine() {
        if (line.size() > 0) {
            endLine(new byte[] {'\n'}, 0, 1);
        }
    }

    private int endLine(byte[] bytes, int from, int to) {
        line.write(bytes, from, to - from);
        byte[] whole = line.toByteArray();
        if (filter.test(whole)) {
            appendLine(whole);
        }
        line.reset();
        return to;
    }

    /// Like [#endLine], but asks nobody: a state of a progress bar is no line of the log.
    private int endProgress(byte[] bytes, int from, int to) {
        line.write(bytes, from, to - from);
        appendLine(line.toByteArray());
        line.reset();
        return to;
    }

    private void appendLine(byte[] whole) {
        byte[] time = timestamp.get().getBytes(UTF_8);
        ready.writeBytes(time);
        ready.writeBytes(source.linePrefix(standardStream).getBytes(UTF_8));
        ready.writeBytes(whole);
        readyForFile.writeBytes(time);
        readyForFile.writeBytes(whole);
    }

    private void print() {
        if (ready.size() > 0) {
            // First, since a console may be stopped by its user for hours.
            file.write(readyForFile.toByteArray());
            readyForFile.reset();
            launcherConsole.write(standardStream, ready.toByteArray());
            ready.reset();
        }
    }
}
