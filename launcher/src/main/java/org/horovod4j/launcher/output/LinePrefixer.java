package org.horovod4j.launcher.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.process.OutputReader;

import java.io.ByteArrayOutputStream;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/// Splits one stream of a process into lines and puts `[rank]<stream>:` before each, with the rank
/// that the process has at that moment. The file of the stream gets the same lines without prefix.
///
/// A line ends with a line feed or, for progress bars, a carriage return. It is forwarded as soon
/// as it has ended, so that lines of different ranks do not mix. In UTF-8 these two bytes never
/// occur inside a longer character, so a character that is split over two reads stays intact.
///
/// Bytes are forwarded unchanged with two exceptions. A last line without an end gets a line feed,
/// so that the next prefix starts a line. A line of more than [#MAX_LINE_BYTES] bytes is broken, so
/// that a program which never ends its line does not fill the memory of the launcher.
final class LinePrefixer implements OutputReader.Receiver {
    static final int MAX_LINE_BYTES = 1 << 20;

    private final OutputSource source;
    private final StandardStream standardStream;
    private final LauncherConsole launcherConsole;
    private final Consumer<byte[]> file;
    private final Supplier<String> timestamp;
    private final Predicate<byte[]> filter;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private final ByteArrayOutputStream ready = new ByteArrayOutputStream();
    private final ByteArrayOutputStream readyForFile = new ByteArrayOutputStream();
    private boolean afterCarriageReturn;

    /// @param filter whether a line that ends with a line feed may be printed
    LinePrefixer(
            OutputSource outputSource, StandardStream standardStream, Predicate<byte[]> filter) {
        this.source = outputSource;
        this.standardStream = standardStream;
        this.launcherConsole = outputSource.outputTargets().launcherConsole();
        this.file = outputSource.file(standardStream);
        this.timestamp = outputSource.outputTargets().timestamp();
        this.filter = filter;
    }

    /// Prints the lines that these bytes end, in one write.
    @Override
    public void onBytes(byte[] bytes, int length) {
        int start = 0;
        if (length > 0 && afterCarriageReturn) {
            // The second half of a Windows line end; the first is printed already.
            start = bytes[0] == '\n' ? 1 : 0;
            ready.write(bytes, 0, start);
            readyForFile.write(bytes, 0, start);
            afterCarriageReturn = false;
        }
        for (int at = start; at < length; at++) {
            if (bytes[at] == '\n') {
                start = endLine(bytes, start, at + 1);
            } else if (bytes[at] == '\r' && (at + 1 == length || bytes[at + 1] != '\n')) {
                start = endLine(bytes, start, at + 1);
                afterCarriageReturn = at + 1 == length;
            }
        }
        line.write(bytes, start, length - start);
        if (line.size() > MAX_LINE_BYTES) {
            breakLine();
        }
        print();
    }

    /// Prints a last line without an end.
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
        line.reset();
        // A step of a progress bar is not a line of the log.
        if (whole[whole.length - 1] == '\r' || filter.test(whole)) {
            appendLine(whole);
        }
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
            // The file first: a user may stop the console for hours.
            file.accept(readyForFile.toByteArray());
            readyForFile.reset();
            launcherConsole.write(standardStream, ready.toByteArray());
            ready.reset();
        }
    }
}
