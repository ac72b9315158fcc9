package org.horovod4j.launcher.output;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.output.Console.Channel;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/// The files `rank.<number>/stdout` and `rank.<number>/stderr` of a folder, one pair for each rank.
///
/// All are made before the job starts, so that a folder which cannot be written to is found then. When
/// writing fails later, mostly because the disk is full, the job goes on: one message says so, for all
/// files, and the file takes no more.
final class OutputFiles {
    private final Console console;
    private final List<Map<Channel, OutputFile>> byRank = new ArrayList<>();
    private final AtomicBoolean complained = new AtomicBoolean();

    private OutputFiles(Console console) {
        this.console = console;
    }

    /// Makes the folder and the files; what files of these names held is gone.
    ///
    /// @throws ConfigurationException when that is not possible
    static OutputFiles create(Path folder, int size, Console console) {
        OutputFiles files = new OutputFiles(console);
        for (int rank = 0; rank < size; rank++) {
            files.add(folder.resolve(folderName(rank, size)));
        }
        return files;
    }

    /// As wide for all ranks as the highest needs, so that the folders sort by rank.
    static String folderName(int rank, int size) {
        int width = Integer.toString(size - 1).length();
        String digits = Integer.toString(rank);
        return "rank." + "0".repeat(width - digits.length()) + digits;
    }

    private void add(Path folder) {
        Map<Channel, OutputFile> pair = new EnumMap<>(Channel.class);
        try {
            Files.createDirectories(folder);
            for (Channel channel : Channel.values()) {
                Path file = folder.resolve(channel.toString());
                pair.put(channel, new Log(file, Files.newOutputStream(file)));
            }
        } catch (IOException e) {
            throw new ConfigurationException(
                    "--output-filename: cannot make the files of %s (%s). Name a folder that can be made."
                            .formatted(folder, e),
                    e);
        }
        byRank.add(pair);
    }

    OutputFile file(int rank, Channel channel) {
        return byRank.get(rank).getOrDefault(channel, OutputFile.NONE);
    }

    /// Closes them all; whatever still writes finds them closed.
    void close() {
        byRank.forEach(pair -> pair.values().forEach(OutputFile::close));
    }

    private void complain(Path file, IOException reason) {
        if (complained.compareAndSet(false, true)) {
            console.say(
                    "cannot write to %s (%s); the job goes on, its output files are incomplete"
                            .formatted(file, reason.getMessage()));
        }
    }

    /// Used by the thread of its stream, one after the other if a job has several commands.
    private final class Log implements OutputFile {
        private final Path file;
        private final OutputStream stream;
        private boolean closed;

        Log(Path file, OutputStream stream) {
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
                complain(file, e);
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
                complain(file, e);
            }
        }
    }
}
