package org.horovod4j.launcher.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.process.OutputReader;

import java.io.InputStream;
import java.util.function.Predicate;

/// Forwards one stream of one process to the console and its file.
public final class OutputForwarder {
    /// The size of a pipe on Linux.
    private static final int CHUNK = 1 << 16;

    private OutputForwarder() {}

    /// Forwards standard output.
    public static OutputReader ofOutput(
            OutputSource outputSource, InputStream source, OutputTargets outputTargets) {
        return forwardLines(outputSource, StandardStream.STDOUT, source, outputTargets, _ -> true);
    }

    /// Forwards standard error, and keeps its last lines.
    ///
    /// @param unwanted a line to drop the first time it is seen; empty for none
    public static OutputReader ofErrors(
            OutputSource outputSource,
            InputStream source,
            OutputTargets outputTargets,
            LastLines lastLines,
            String unwanted) {
        return forwardLines(
                outputSource,
                StandardStream.STDERR,
                source,
                outputTargets,
                new StderrLineFilter(lastLines, unwanted));
    }

    private static OutputReader forwardLines(
            OutputSource outputSource,
            StandardStream standardStream,
            InputStream source,
            OutputTargets outputTargets,
            Predicate<byte[]> filter) {
        return OutputReader.start(
                "hvd-output-" + outputSource.number() + "-" + standardStream,
                source,
                CHUNK,
                new LinePrefixer(outputSource, standardStream, outputTargets, filter));
    }

    /// Forwards lines that carry a prefix already.
    ///
    /// @param filter whether a line may be printed
    public static OutputReader ofPrefixed(
            String name,
            StandardStream standardStream,
            InputStream source,
            LauncherConsole launcherConsole,
            Predicate<byte[]> filter) {
        return OutputReader.start(
                "hvd-%s-%s".formatted(name, standardStream),
                source,
                CHUNK,
                new LinePrefixer(
                        OutputSource.ofPrefixed(),
                        standardStream,
                        OutputTargets.ofConsole(launcherConsole),
                        filter));
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
