package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.Console.Channel;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;

/// Where the output of a job's ranks goes: to the console, and to files if they are asked for.
///
/// @param files null for none
/// @param stamp what comes before each line, on the console and in files
public record Forwarding(Console console, @Nullable OutputFiles files, Stamp stamp)
        implements AutoCloseable {
    /// Makes the files, before anything of the job is started.
    ///
    /// @param folder for a file for each stream of each rank; null for none
    /// @param timestamps whether each line carries the time
    /// @param size how many ranks there are
    /// @throws org.horovod4j.ConfigurationException when a file cannot be made
    public static Forwarding of(
            Console console, @Nullable Path folder, boolean timestamps, int size) {
        return new Forwarding(
                console,
                folder == null ? null : OutputFiles.create(folder, size, console),
                timestamps ? Stamp.time() : Stamp.NONE);
    }

    /// The same for an elastic job, each worker of which gets its files when it is started.
    ///
    /// @throws org.horovod4j.ConfigurationException when the folder cannot be made
    public static Forwarding ofWorkers(Console console, @Nullable Path folder, boolean timestamps) {
        return new Forwarding(
                console,
                folder == null ? null : OutputFiles.ofWorkers(folder, console),
                timestamps ? Stamp.time() : Stamp.NONE);
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
    OutputFile file(int number, Channel channel) {
        return files == null ? OutputFile.NONE : files.file(number, channel);
    }
}
