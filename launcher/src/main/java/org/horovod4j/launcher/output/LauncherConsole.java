package org.horovod4j.launcher.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;

/// The two output streams of the launcher, shared by all ranks.
///
/// One lock guards both, since both usually end on the same screen. When a stream is closed by its
/// reader (`horovodrun … | head`), the job continues and its output there is dropped.
public final class LauncherConsole {
    /// The two output streams of a process. Each is forwarded to the same stream of the launcher.
    public enum StandardStream {
        STDOUT("stdout"),
        STDERR("stderr");

        private final String label;

        StandardStream(String label) {
            this.label = label;
        }

        @Override
        public String toString() {
            return label;
        }
    }

    /// Goes to the start of the line and clears it.
    private static final String ERASE = "\r\033[K";

    /// Before a line that a narrow terminal must cut, not wrap, since only one line is erased.
    private static final String NO_WRAP = "\033[?7l";

    private static final String WRAP = "\033[?7h";

    private final OutputStream out;
    private final OutputStream err;
    private final boolean isTerminal;
    private final Set<StandardStream> closed = new HashSet<>();
    private boolean hasStatus;
    private boolean hasOutput;
    private boolean hidesMessages;
    private String lastMessage = "";
    private Supplier<String> timestamp = OutputTargets.timestamp(false);

    public LauncherConsole(OutputStream out, OutputStream err) {
        this(out, err, false);
    }

    /// @param isTerminal whether `err` is a terminal, so that a status line can be shown and erased
    public LauncherConsole(OutputStream out, OutputStream err, boolean isTerminal) {
        this.out = out;
        this.err = err;
        this.isTerminal = isTerminal;
    }

    /// The streams of this process, without the buffers and encoders of `System.out`.
    public static LauncherConsole ofThisProcess() {
        return new LauncherConsole(
                new FileOutputStream(FileDescriptor.out),
                new FileOutputStream(FileDescriptor.err),
                isStderrTerminal());
    }

    /// Whether standard error is a terminal that supports escape sequences.
    ///
    /// `System.console()` checks standard input and output together and loads a line editor. `/proc`
    /// on Linux shows each stream separately; elsewhere there is no status line.
    private static boolean isStderrTerminal() {
        String type = System.getenv("TERM");
        if (type == null || type.equals("dumb")) {
            return false;
        }
        try {
            Path device = Files.readSymbolicLink(Path.of("/proc/self/fd/2"));
            return device.startsWith("/dev/pts")
                    || (device.startsWith("/dev")
                            && device.getFileName().toString().startsWith("tty"));
        } catch (IOException e) {
            return false;
        }
    }

    public boolean isTerminal() {
        return isTerminal;
    }

    /// Shows a status line, which the next one replaces. Only on a terminal, and only until a rank
    /// has printed something: the rank may show a progress bar on this line.
    public synchronized void status(String line) {
        if (isTerminal && !hasOutput) {
            emit(StandardStream.STDERR, ERASE + NO_WRAP + "horovodrun: " + printable(line) + WRAP);
            hasStatus = true;
        }
    }

    public synchronized void eraseStatus() {
        if (hasStatus) {
            hasStatus = false;
            emit(StandardStream.STDERR, ERASE);
        }
    }

    /// Writes whole lines of a rank in one piece.
    public synchronized void write(StandardStream standardStream, byte[] lines) {
        hasOutput = true;
        eraseStatus();
        emit(standardStream, lines);
    }

    private synchronized void print(StandardStream standardStream, String lines) {
        eraseStatus();
        emit(standardStream, lines);
    }

    private synchronized void emit(StandardStream standardStream, String text) {
        emit(standardStream, text.getBytes(UTF_8));
    }

    private synchronized void emit(StandardStream standardStream, byte[] bytes) {
        if (closed.contains(standardStream)) {
            return;
        }
        try {
            OutputStream stream = standardStream == StandardStream.STDOUT ? out : err;
            stream.write(bytes);
            stream.flush();
        } catch (IOException | RuntimeException e) { // the stream may be one of the user's program
            closed.add(standardStream);
            printMessage(
                    "cannot write to %s any more (%s); the job continues without it"
                            .formatted(standardStream, e.getMessage()));
        }
    }

    /// Prints plain text on standard output, for `--help` and `--version`.
    public void print(String text) {
        print(StandardStream.STDOUT, text);
    }

    /// Puts the time before each line of all messages that follow, as before the lines of ranks.
    public synchronized void useTimestamps() {
        timestamp = OutputTargets.timestamp(true);
    }

    /// Keeps messages that follow without printing them, for a program that gets them as exceptions.
    public synchronized void hideMessages() {
        hidesMessages = true;
    }

    /// Prints a message of the launcher on standard error, after `horovodrun: `. Control characters
    /// are escaped: the message may quote a host, ssh or the name of a process, and a terminal would
    /// obey them.
    public synchronized void printMessage(String message) {
        String text = printable(message);
        lastMessage = text.strip();
        if (hidesMessages) {
            return;
        }
        String time = timestamp.get();
        print(StandardStream.STDERR, ("horovodrun: " + text).replaceAll("(?m)^", time) + "\n");
    }

    /// The text with its control characters in the form `\x1b`. Lines and tabs stay.
    private static String printable(String text) {
        StringBuilder printable = new StringBuilder(text.length());
        text.chars()
                .forEach(
                        each -> {
                            if (Character.isISOControl(each) && each != '\n' && each != '\t') {
                                printable.append("\\x%02x".formatted(each));
                            } else {
                                printable.append((char) each);
                            }
                        });
        return printable.toString();
    }

    /// The last message of the launcher; empty if there was none. When a job fails, it names the
    /// rank that failed first, how, and its last lines.
    public synchronized String lastMessage() {
        return lastMessage;
    }
}
