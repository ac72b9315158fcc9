package org.horovod4j.launcher.output;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.regex.Pattern;

/// The last lines that a process wrote to standard error. They mostly say why it failed.
///
/// Of each stack trace only the first frames are kept. The rest would push out the exception, which
/// comes before them.
public final class LastLines {
    static final int MAX_LINES = 10;
    static final int MAX_LINE_LENGTH = 1000;

    /// How many frames of a stack trace are kept.
    static final int MAX_FRAMES = 2;

    private static final Pattern FRAME = Pattern.compile("\\s+(at \\S.*|\\.\\.\\. \\d+ \\S.*)");

    private final Deque<String> lines = new ArrayDeque<>();

    /// How many of the latest lines are consecutive frames.
    private int frames;

    public synchronized void add(String line) {
        frames = FRAME.matcher(line).matches() ? frames + 1 : 0;
        if (frames > MAX_FRAMES + 1) {
            lines.removeLast();
        }
        if (frames > MAX_FRAMES) {
            keep("\t… %d more frames".formatted(frames - MAX_FRAMES));
        } else {
            keep(
                    line.length() <= MAX_LINE_LENGTH
                            ? line
                            : line.substring(0, MAX_LINE_LENGTH) + "…");
        }
    }

    private void keep(String line) {
        if (lines.size() == MAX_LINES) {
            lines.removeFirst();
        }
        lines.addLast(line);
    }

    public synchronized List<String> lines() {
        return List.copyOf(lines);
    }
}
