package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.Console.Channel;

/// A process whose output is forwarded: its lines carry its rank, which in an elastic job changes
/// while it runs.
public final class Speaker {
    private static final int NOBODY = -1;

    private final int number;
    private volatile String label;

    private Speaker(int number, String label) {
        this.number = number;
        this.label = label;
    }

    /// A process that keeps its rank.
    public static Speaker ofRank(int rank) {
        return new Speaker(rank, Integer.toString(rank));
    }

    /// One whose lines are marked already.
    static Speaker ofMarked() {
        return new Speaker(NOBODY, "");
    }

    /// A process that has no rank yet.
    public static Speaker ofWorker(int number) {
        return new Speaker(number, worker(number));
    }

    private static String worker(int number) {
        return "worker " + number;
    }

    /// Gives it another rank, for the lines that end from now on.
    public void becomes(int rank) {
        label = Integer.toString(rank);
    }

    /// Takes its rank away: another process may have it now.
    public void leaves() {
        label = worker(number);
    }

    /// Names its files; never changes.
    int number() {
        return number;
    }

    /// What comes before each of its lines.
    String mark(Channel channel) {
        return label.isEmpty() ? "" : "[" + label + "]<" + channel + ">:";
    }
}
