package org.horovod4j.launcher.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.process.OutputReader;

import java.io.InputStream;
import java.util.function.Consumer;
import java.util.function.Predicate;

/// A process whose output is forwarded. Its lines carry its rank, which changes in an elastic job.
public final class OutputSource {
    /// The size of a pipe on Linux.
    private static final int CHUNK = 1 << 16;

    private static final int NO_NUMBER = -1;

    private final OutputTargets outputTargets;
    private final int number;
    private final String name;
    private volatile String label;

    /// @param number the number in the names of its files
    /// @param label what its lines carry; empty if they carry a prefix already
    OutputSource(OutputTargets outputTargets, int number, String name, String label) {
        this.outputTargets = outputTargets;
        this.number = number;
        this.name = name;
        this.label = label;
    }

    /// A process whose lines carry a prefix already.
    public static OutputSource ofPrefixed(String name, LauncherConsole launcherConsole) {
        return new OutputSource(OutputTargets.ofConsole(launcherConsole), NO_NUMBER, name, "");
    }

    /// Sets the rank for lines that end from now on.
    public void setRank(int rank) {
        label = Integer.toString(rank);
    }

    /// Removes the rank: another process may have it now.
    public void clearRank() {
        label = name;
    }

    /// Forwards standard output.
    public OutputReader forwardOutput(InputStream stream) {
        return forward(StandardStream.STDOUT, stream, _ -> true);
    }

    /// Forwards standard error, and keeps its last lines.
    ///
    /// @param unwanted a line to drop the first time it is seen; empty for none
    public OutputReader forwardErrors(InputStream stream, LastLines lastLines, String unwanted) {
        return forward(StandardStream.STDERR, stream, new StderrLineFilter(lastLines, unwanted));
    }

    /// Forwards one stream to the console and its file.
    ///
    /// @param filter whether a line may be printed
    public OutputReader forward(
            StandardStream standardStream, InputStream stream, Predicate<byte[]> filter) {
        return OutputReader.start(
                "hvd-output-%s-%s".formatted(number < 0 ? name : number, standardStream),
                stream,
                CHUNK,
                new LinePrefixer(this, standardStream, filter));
    }

    /// Takes what one stream prints, without prefix.
    Consumer<byte[]> file(StandardStream standardStream) {
        return outputTargets.file(number, standardStream);
    }

    OutputTargets outputTargets() {
        return outputTargets;
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

    /// Drops one unwanted line, once, and keeps the last of the others.
    static final class StderrLineFilter implements Predicate<byte[]> {
        private final LastLines lastLines;
        private final String unwanted;
        private boolean dropped;

        StderrLineFilter(LastLines lastLines, String unwanted) {
            this.lastLines = lastLines;
            this.unwanted = unwanted;
            this.dropped = unwanted.isEmpty();
        }

        @Override
        public boolean test(byte[] bytes) {
            String line = new String(bytes, UTF_8).stripTrailing();
            if (!dropped && line.equals(unwanted)) {
                dropped = true;
                return false;
            }
            lastLines.add(line);
            return true;
        }
    }
}
