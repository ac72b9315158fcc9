package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// Where the output of a job's processes goes: to the console and, on request, to files.
///
/// @param files null for none
/// @param timestamp what comes before each line, on the console and in files; asked for when the
///     line has ended
/// @param byRank whether the number of a process is its rank
public record OutputTargets(
        LauncherConsole launcherConsole,
        @Nullable OutputFiles files,
        Supplier<String> timestamp,
        boolean byRank)
        implements AutoCloseable {
    /// The console only, without timestamps.
    static OutputTargets ofConsole(LauncherConsole launcherConsole) {
        return new OutputTargets(launcherConsole, null, timestamp(false), true);
    }

    /// For processes that keep their ranks. Creates their files.
    ///
    /// @param folder for the files of each rank; null for none
    /// @param timestamps whether each line carries the time
    /// @param size the number of ranks
    /// @throws org.horovod4j.ConfigurationException when a file cannot be created
    public static OutputTargets ofRanks(
            LauncherConsole launcherConsole, @Nullable Path folder, boolean timestamps, int size) {
        return new OutputTargets(
                launcherConsole,
                folder == null ? null : OutputFiles.ofRanks(folder, size, launcherConsole),
                timestamp(timestamps),
                true);
    }

    /// For elastic workers, whose ranks change. The files of each are created when it starts.
    ///
    /// @param folder for the files of each worker; null for none
    /// @param timestamps whether each line carries the time
    /// @throws org.horovod4j.ConfigurationException when the folder cannot be created
    public static OutputTargets ofWorkers(
            LauncherConsole launcherConsole, @Nullable Path folder, boolean timestamps) {
        return new OutputTargets(
                launcherConsole,
                folder == null ? null : OutputFiles.ofWorkers(folder, launcherConsole),
                timestamp(timestamps),
                false);
    }

    /// As in `2026-11-15T12:20:33.123+01:00` and a blank. Lines of several hosts and days sort by
    /// it, unlike Horovod's `Sun Nov 15 12:20:33 2026`.
    static Supplier<String> timestamp(boolean isWanted) {
        if (!isWanted) {
            return () -> "";
        }
        DateTimeFormatter format =
                DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSxxx ", Locale.ROOT);
        return () -> format.format(ZonedDateTime.now(ZoneId.systemDefault()));
    }

    /// The source for the process of this rank, or of the worker of this number, which has no rank
    /// yet.
    public OutputSource source(int number) {
        String worker = "worker " + number;
        return byRank
                ? new OutputSource(this, number, "rank " + number, Integer.toString(number))
                : new OutputSource(this, number, worker, worker);
    }

    /// Closes the files.
    @Override
    public void close() {
        if (files != null) {
            files.close();
        }
    }

    /// Closes the files of a process that prints nothing more. If a later command of the job has a
    /// process of that number, its lines are appended.
    public void close(int number) {
        if (files != null) {
            files.close(number);
        }
    }

    /// Takes what one stream of one process prints, or drops it if there are no files.
    Consumer<byte[]> file(int number, StandardStream standardStream) {
        return files == null ? _ -> {} : files.file(number, standardStream);
    }
}
