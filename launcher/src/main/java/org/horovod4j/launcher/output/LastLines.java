package org.horovod4j.launcher.output;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/// The last few lines that a process wrote to standard error: most often why it failed.
public final class LastLines {
    static final int COUNT = 10;
    static final int WIDTH = 1000;

    private final Deque<String> lines = new ArrayDeque<>();

    synchronized void add(String line) {
        if (lines.size() == COUNT) {
            lines.removeFirst();
        }
        lines.addLast(line.length() <= WIDTH ? line : line.substring(0, WIDTH) + "…");
    }

    public synchronized List<String> lines() {
        return List.copyOf(lines);
    }
}
