package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;

/// A process whose output is forwarded. Its lines carry its rank, which changes in an elastic job.
public final class OutputSource {
    private static final int NO_NUMBER = -1;

    private final int number;
    private final String name;
    private volatile String label;

    private OutputSource(int number, String name, String label) {
        this.number = number;
        this.name = name;
        this.label = label;
    }

    /// A process that keeps its rank.
    static OutputSource ofRank(int rank) {
        return new OutputSource(rank, "rank " + rank, Integer.toString(rank));
    }

    /// A process whose lines carry a prefix already.
    static OutputSource ofPrefixed() {
        return new OutputSource(NO_NUMBER, "", "");
    }

    /// An elastic worker, which has no rank yet.
    static OutputSource ofWorker(int number) {
        return new OutputSource(number, "worker " + number, "worker " + number);
    }

    /// Sets the rank for lines that end from now on.
    public void setRank(int rank) {
        label = Integer.toString(rank);
    }

    /// Removes the rank: another process may have it now.
    public void clearRank() {
        label = name;
    }

    /// The number in the names of its files.
    int number() {
        return number;
    }

    /// What comes before each of its lines.
    String linePrefix(StandardStream standardStream) {
        return label.isEmpty() ? "" : "[" + label + "]<" + standardStream + ">:";
    }

    /// "rank 2" or "worker 2".
    @Override
    public String toString() {
        return name;
    }
}
