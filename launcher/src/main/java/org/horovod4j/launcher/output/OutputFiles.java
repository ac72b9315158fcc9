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

/// The files `rank.<number>/stdout` and `rank.<number>/stderr` of a folder, one pair for each rank;
/// in an elastic job `worker.<number>/…`, as ranks change there.
///
/// The folder, and what belongs to ranks, is made before the job starts, so that one which cannot
/// be written to is found then. When writing fails later, mostly because the disk is full, the job
/// goes on: one message says so, for all files, and the file takes no more.
final class OutputFiles {
    private final Path folder;
    private final LauncherConsole launcherConsole;
    private final Map<Integer, Map<StandardStream, OutputFile>> pairs = new ConcurrentHashMap<>();
    private final Set<Integer> closed = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean failureReported = new AtomicBoolean();

    private OutputFiles(Path folder, LauncherConsole launcherConsole) {
        this.folder = folder;
        this.launcherConsole = launcherConsole;
    }

    /// Makes the folder and the files; what files of these names held is gone.
    ///
    /// @throws ConfigurationException when that is not possible
    static OutputFiles create(Path folder, int size, LauncherConsole launcherConsole) {
        OutputFiles files = new OutputFiles(folder, launcherConsole);
        try {
            for (int rank = 0; rank < size; rank++) {
                files.pairs.put(rank, files.pair(folderName(rank, size), TRUNCATE_EXISTING));
            }
        } catch (IOException e) {
            throw cannotCreate(folder, e);
        }
        return files;
    }

    /// Makes the folder; each worker gets its files when they are first asked for.
    ///
    /// @throws ConfigurationException when that is not possible
    static OutputFiles ofWorkers(Path folder, LauncherConsole launcherConsole) {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw cannotCreate(folder, e);
        }
        return new OutputFiles(folder, launcherConsole);
    }

    private static ConfigurationException cannotCreate(Path folder, IOException e) {
        return new ConfigurationException(
                "--output-filename: cannot make the files of %s (%s). Name a folder that can be made."
                        .formatted(folder, e),
                e);
    }

    /// As wide for all ranks as the highest needs, so that the folders sort by rank.
    static String folderName(int rank, int size) {
        int width = Integer.toString(size - 1).length();
        String digits = Integer.toString(rank);
        return "rank." + "0".repeat(width - digits.length()) + digits;
    }

    /// @param whatIsThere what becomes of it: `TRUNCATE_EXISTING` or `APPEND`
    private Map<StandardStream, OutputFile> pair(String name, OpenOption whatIsThere)
            throws IOException {
        Path place = folder.resolve(name);
        Files.createDirectories(place);
        Map<StandardStream, OutputFile> pair = new EnumMap<>(StandardStream.class);
        for (StandardStream standardStream : StandardStream.values()) {
            Path file = place.resolve(standardStream.toString());
            pair.put(
                    standardStream,
                    new LogFile(file, Files.newOutputStream(file, CREATE, whatIsThere)));
        }
        return pair;
    }

    /// @param number of the rank, or of the worker
    OutputFile file(int number, StandardStream standardStream) {
        return pairs.computeIfAbsent(number, this::pairOfWorker)
                .getOrDefault(standardStream, OutputFile.NONE);
    }

    private Map<StandardStream, OutputFile> pairOfWorker(int number) {
        String name = "worker." + number;
        try {
            return pair(name, closed.contains(number) ? APPEND : TRUNCATE_EXISTING);
        } catch (IOException e) {
            reportFailure(folder.resolve(name), e);
            return Map.of();
        }
    }

    /// Closes those of a worker; asked for again, they go on where they ended.
    void close(int worker) {
        closed.add(worker);
        Map<StandardStream, OutputFile> pair = pairs.remove(worker);
        if (pair != null) {
            pair.values().forEach(OutputFile::close);
        }
    }

    /// Closes them all; whatever still writes finds them closed.
    void close() {
        pairs.values().forEach(pair -> pair.values().forEach(OutputFile::close));
    }

    private void reportFailure(Path file, IOException reason) {
        if (failureReported.compareAndSet(false, true)) {
            launcherConsole.printMessage(
                    "cannot write to %s (%s); the job goes on, its output files are incomplete"
                            .formatted(file, reason.getMessage()));
        }
    }

    /// Used by the thread of its stream, one after the other if a job has several commands.
    private final class LogFile implements OutputFile {
        private final Path file;
        private final OutputStream stream;
        private boolean closed;

        LogFile(Path file, OutputStream stream) {
            this.file = file;
            this.stream = stream;
        }

        @Override
        public synchronized void write(byte[] lines) {
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

        @Override
        public synchronized void close() {
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
