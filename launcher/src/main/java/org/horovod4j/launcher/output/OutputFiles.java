package org.horovod4j.launcher.output;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.TRUNCATE_EXISTING;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.output.LauncherConsole.StandardStream;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/// The files `rank.<number>/stdout` and `rank.<number>/stderr` in a folder, one pair for each rank;
/// in an elastic job `worker.<number>/…`, since ranks change there.
///
/// The folder and the files of ranks are created before the job starts, so that a folder which
/// cannot be written is found early. When a write fails later, mostly because the disk is full, the
/// job continues: one message is printed for all files, and the file takes no more lines.
final class OutputFiles {
    private final Path folder;
    private final IntFunction<String> names;
    private final LauncherConsole launcherConsole;
    private final Map<Integer, Map<StandardStream, LogFile>> pairs = new ConcurrentHashMap<>();
    private final Set<Integer> closed = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean failureReported = new AtomicBoolean();

    private OutputFiles(Path folder, IntFunction<String> names, LauncherConsole launcherConsole) {
        this.folder = folder;
        this.names = names;
        this.launcherConsole = launcherConsole;
    }

    /// Creates the folder and the files of all ranks; existing files are emptied.
    ///
    /// @throws ConfigurationException when that fails
    static OutputFiles ofRanks(Path folder, int size, LauncherConsole launcherConsole) {
        OutputFiles files =
                new OutputFiles(folder, rank -> folderName(rank, size), launcherConsole);
        try {
            for (int rank = 0; rank < size; rank++) {
                files.pairs.put(rank, files.open(rank, TRUNCATE_EXISTING));
            }
        } catch (IOException e) {
            throw cannotCreate(folder, e);
        }
        return files;
    }

    /// Creates the folder. The files of a worker are created when they are first used.
    ///
    /// @throws ConfigurationException when that fails
    static OutputFiles ofWorkers(Path folder, LauncherConsole launcherConsole) {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw cannotCreate(folder, e);
        }
        return new OutputFiles(folder, number -> "worker." + number, launcherConsole);
    }

    private static ConfigurationException cannotCreate(Path folder, IOException e) {
        return new ConfigurationException(
                "--output-filename: cannot make the files of %s (%s). Name a folder that can be made."
                        .formatted(folder, e),
                e);
    }

    /// Padded with zeros, so that the folders sort by rank.
    private static String folderName(int rank, int size) {
        int width = Integer.toString(size - 1).length();
        return ("rank.%0" + width + "d").formatted(rank);
    }

    /// @param existing `TRUNCATE_EXISTING` or `APPEND`
    private Map<StandardStream, LogFile> open(int number, OpenOption existing) throws IOException {
        Path place = folder.resolve(names.apply(number));
        Files.createDirectories(place);
        Map<StandardStream, LogFile> pair = new EnumMap<>(StandardStream.class);
        for (StandardStream standardStream : StandardStream.values()) {
            Path file = place.resolve(standardStream.toString());
            pair.put(
                    standardStream,
                    new LogFile(file, Files.newOutputStream(file, CREATE, existing)));
        }
        return pair;
    }

    /// Takes what one stream of one process prints. It never throws: a job does not end because its
    /// output file cannot be written.
    ///
    /// @param number of the rank, or of the worker
    Consumer<byte[]> file(int number, StandardStream standardStream) {
        LogFile file = pairs.computeIfAbsent(number, this::openOrReport).get(standardStream);
        return file == null ? _ -> {} : file::write;
    }

    private Map<StandardStream, LogFile> openOrReport(int number) {
        try {
            return open(number, closed.contains(number) ? APPEND : TRUNCATE_EXISTING);
        } catch (IOException e) {
            reportFailure(folder.resolve(names.apply(number)), e);
            return Map.of();
        }
    }

    /// Closes the files of a process. If they are used again, lines are appended.
    void close(int number) {
        closed.add(number);
        Map<StandardStream, LogFile> pair = pairs.remove(number);
        if (pair != null) {
            pair.values().forEach(LogFile::close);
        }
    }

    /// Closes all files. Later writes are dropped.
    void close() {
        pairs.values().forEach(pair -> pair.values().forEach(LogFile::close));
    }

    private void reportFailure(Path file, IOException reason) {
        if (failureReported.compareAndSet(false, true)) {
            launcherConsole.printMessage(
                    "cannot write to %s (%s); the job continues, its output files are incomplete"
                            .formatted(file, reason.getMessage()));
        }
    }

    /// The thread that reads the stream writes to it; with several commands, one after the other.
    private final class LogFile {
        private final Path file;
        private final OutputStream stream;
        private boolean closed;

        LogFile(Path file, OutputStream stream) {
            this.file = file;
            this.stream = stream;
        }

        /// Writes whole lines without buffering, so that `tail -f` shows them as soon as the
        /// console does.
        synchronized void write(byte[] lines) {
            if (closed) {
                return;
            }
            try {
                stream.write(lines);
            } catch (IOException e) {
                reportFailure(file, e);
                close();
            }
        }

        synchronized void close() {
            if (closed) {
                return;
            }
            closed = true;
            try {
                stream.close();
            } catch (IOException e) {
                reportFailure(file, e);
            }
        }
    }
}
