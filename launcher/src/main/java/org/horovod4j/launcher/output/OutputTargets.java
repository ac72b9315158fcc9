package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;

/// Where the output of a job's ranks goes: to the console, and to files if they are asked for.
///
/// @param files null for none
/// @param timestamp what comes before each line, on the console and in files
public record OutputTargets(
        LauncherConsole launcherConsole, @Nullable OutputFiles files, LineTimestamp timestamp)
        implements AutoCloseable {
    /// Makes the files, before anything of the job is started.
    ///
    /// @param folder for a file for each stream of each rank; null for none
    /// @param timestamps whether each line carries the time
    /// @param size how many ranks there are
    /// @throws org.horovod4j.ConfigurationException when a file cannot be made
    public static OutputTargets of(
            LauncherConsole launcherConsole, @Nullable Path folder, boolean timestamps, int size) {
        return new OutputTargets(
                launcherConsole,
                folder == null ? null : OutputFiles.create(folder, size, launcherConsole),
                timestamps ? LineTimestamp.ofCurrentTime() : LineTimestamp.NONE);
    }

    /// The same for an elastic job, each worker of which gets its files when it is started.
    ///
    /// @throws org.horovod4j.ConfigurationException when the folder cannot be made
    public static OutputTargets ofWorkers(
            LauncherConsole launcherConsole, @Nullable Path folder, boolean timestamps) {
        return new OutputTargets(
                launcherConsole,
                folder == null ? null : OutputFiles.ofWorkers(folder, launcherConsole),
                timestamps ? LineTimestamp.ofCurrentTime() : LineTimestamp.NONE);
    }

    /// Closes the files.
    @Override
    public void close() {
        if (files != null) {
            files.close();
        }
    }

    /// Closes the files of a worker that prints nothing more. If a later command of the job has a
    /// worker of that number, its lines come after these.
    public void close(int worker) {
        if (files != null) {
            files.close(worker);
        }
    }

    /// The file of one stream of one rank or worker, or nothing at all.
    OutputFile file(int number, StandardStream standardStream) {
        return files == null ? OutputFile.NONE : files.file(number, standardStream);
    }
}
