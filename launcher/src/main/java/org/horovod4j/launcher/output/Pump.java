package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.Console.Channel;
import org.horovod4j.launcher.process.OutputReader;

import java.io.InputStream;
import java.util.function.Predicate;

/// Carries one stream of one process to the console and its file.
public final class Pump {
    /// As much as a pipe holds on Linux.
    private static final int CHUNK = 1 << 16;

    private Pump() {}

    /// Forwards standard output.
    public static OutputReader ofOutput(int rank, InputStream source, Forwarding forwarding) {
        return ofOutput(Speaker.ofRank(rank), source, forwarding);
    }

    /// Forwards standard output of a process whose rank may change.
    public static OutputReader ofOutput(
            Speaker speaker, InputStream source, Forwarding forwarding) {
        return lines(speaker, Channel.STDOUT, source, forwarding, _ -> true);
    }

    /// Forwards standard error, and keeps its last lines.
    ///
    /// @param unwanted a line to drop the first time it is seen; empty for none
    public static OutputReader ofErrors(
            int rank, InputStream source, Forwarding forwarding, LastLines last, String unwanted) {
        return ofErrors(Speaker.ofRank(rank), source, forwarding, last, unwanted);
    }

    /// The same for a process whose rank may change.
    public static OutputReader ofErrors(
            Speaker speaker,
            InputStream source,
            Forwarding forwarding,
            LastLines last,
            String unwanted) {
        return lines(speaker, Channel.STDERR, source, forwarding, new ErrorLines(last, unwanted));
    }

    private static OutputReader lines(
            Speaker speaker,
            Channel channel,
            InputStream source,
            Forwarding forwarding,
            Predicate<byte[]> admission) {
        return OutputReader.start(
                "hvd-output-" + speaker.number() + "-" + channel,
                source,
                CHUNK,
                new LinePrefixer(speaker, channel, forwarding, admission));
    }

    /// Forwards lines as they are, from one who has marked them already.
    ///
    /// @param admission asked for each line: whether it may be printed
    public static OutputReader ofMarked(
            String name,
            Channel channel,
            InputStream source,
            Console console,
            Predicate<byte[]> admission) {
        return OutputReader.start(
                "hvd-%s-%s".formatted(name, channel),
                source,
                CHUNK,
                new LinePrefixer(
                        Speaker.ofMarked(),
                        channel,
                        new Forwarding(console, null, Stamp.NONE),
                        admission));
    }
}
