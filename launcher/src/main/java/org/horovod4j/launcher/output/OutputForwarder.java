package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.process.OutputReader;

import java.io.InputStream;
import java.util.function.Predicate;

/// Carries one stream of one process to the console and its file.
public final class OutputForwarder {
    /// As much as a pipe holds on Linux.
    private static final int CHUNK = 1 << 16;

    private OutputForwarder() {}

    /// Forwards standard output.
    public static OutputReader ofOutput(int rank, InputStream source, OutputTargets outputTargets) {
        return ofOutput(OutputSource.ofRank(rank), source, outputTargets);
    }

    /// Forwards standard output of a process whose rank may change.
    public static OutputReader ofOutput(
            OutputSource outputSource, InputStream source, OutputTargets outputTargets) {
        return forwardLines(outputSource, StandardStream.STDOUT, source, outputTargets, _ -> true);
    }

    /// Forwards standard error, and keeps its last lines.
    ///
    /// @param unwanted a line to drop the first time it is seen; empty for none
    public static OutputReader ofErrors(
            int rank,
            InputStream source,
            OutputTargets outputTargets,
            LastLines last,
            String unwanted) {
        return ofErrors(OutputSource.ofRank(rank), source, outputTargets, last, unwanted);
    }

    /// The same for a process whose rank may change.
    public static OutputReader ofErrors(
            OutputSource outputSource,
            InputStream source,
            OutputTargets outputTargets,
            LastLines last,
            String unwanted) {
        return forwardLines(
                outputSource,
                StandardStream.STDERR,
                source,
                outputTargets,
                new StderrLineFilter(last, unwanted));
    }

    private static OutputReader forwardLines(
            OutputSource outputSource,
            StandardStream standardStream,
            InputStream source,
            OutputTargets outputTargets,
            Predicate<byte[]> admission) {
        return OutputReader.start(
                "hvd-output-" + outputSource.number() + "-" + standardStream,
                source,
                CHUNK,
                new LinePrefixer(outputSource, standardStream, outputTargets, admission));
    }

    /// Forwards lines as they are, from one who has marked them already.
    ///
    /// @param admission asked for each line: whether it may be printed
    public static OutputReader ofPrefixed(
            String name,
            StandardStream standardStream,
            InputStream source,
            LauncherConsole launcherConsole,
            Predicate<byte[]> admission) {
        return OutputReader.start(
                "hvd-%s-%s".formatted(name, standardStream),
                source,
                CHUNK,
                new LinePrefixer(
                        OutputSource.ofPrefixed(),
                        standardStream,
                        new OutputTargets(launcherConsole, null, LineTimestamp.NONE),
                        admission));
    }
}
