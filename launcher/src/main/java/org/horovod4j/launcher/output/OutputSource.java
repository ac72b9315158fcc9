package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;

/// A process whose output is forwarded: its lines carry its rank, which in an elastic job changes
/// while it runs.
public final class OutputSource {
    private static final int NO_NUMBER = -1;

    private final int number;
    private volatile String label;

    private OutputSource(int number, String label) {
        this.number = number;
        this.label = label;
    }

    /// A process that keeps its rank.
    public static OutputSource ofRank(int rank) {
        return new OutputSource(rank, Integer.toString(rank));
    }

    /// One whose lines are marked already.
    static OutputSource ofPrefixed() {
        return new OutputSource(NO_NUMBER, "");
    }

    /// A process that has no rank yet.
    public static OutputSource ofWorker(int number) {
        return new OutputSource(number, workerLabel(number));
    }

    private static String workerLabel(int number) {
        return "worker " + number;
    }

    /// Gives it another rank, for the lines that end from now on.
    public void setRank(int rank) {
        label = Integer.toString(rank);
    }

    /// Takes its rank away: another process may have it now.
    public void clearRank() {
        label = workerLabel(number);
    }

    /// Names its files; never changes.
    int number() {
        return number;
    }

    /// What comes before each of its lines.
    String linePrefix(StandardStream standardStream) {
        return label.isEmpty() ? "" : "[" + label + "]<" + standardStream + ">:";
    }
}
