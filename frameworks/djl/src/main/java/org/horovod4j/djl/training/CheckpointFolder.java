package org.horovod4j.djl.training;

import org.horovod4j.log.Log;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The checkpoints of one training in one folder, by epoch: `epoch-0003.checkpoint`.
///
/// A file gets its name when all of it is on the disk, so whatever has such a name is whole unless
/// somebody else has touched it.
record CheckpointFolder(Path folder, int kept) {
    private static final System.Logger LOG = Log.of(CheckpointFolder.class);
    private static final Pattern NAME = Pattern.compile("epoch-(\\d+)\\.checkpoint");

    /// What writes a file that does not exist yet.
    interface ContentWriter {
        void write(Path file) throws IOException;
    }

    /// Makes the folder, and finds out whether checkpoints can be written: better now than after an
    /// epoch.
    void prepare() throws IOException {
        Files.createDirectories(folder);
        Path trial = Files.createTempFile(folder, ".trial", ".partial");
        Files.delete(trial);
    }

    /// Writes the checkpoint of an epoch, in place of one that may be there, and removes those that
    /// are too old; never the one just written, even if another training has left later ones.
    void write(int epoch, ContentWriter contentWriter) throws IOException {
        Files.createDirectories(folder);
        Path partial = folder.resolve(".epoch-%04d.partial".formatted(epoch));
        Files.deleteIfExists(partial);
        try {
            contentWriter.write(partial);
            Files.move(partial, file(epoch), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(partial);
        }
        List<Path> all = newestFirst();
        warnIfLaterExists(file(epoch), all.getFirst());
        for (Path old : all.stream().skip(kept).toList()) {
            if (!old.equals(file(epoch))) {
                Files.deleteIfExists(old);
            }
        }
    }

    /// A training writes its epochs in order, and resumes from the newest: a later one is not its
    /// own, or is damaged.
    private static void warnIfLaterExists(Path written, Path newest) {
        if (epoch(newest) > epoch(written)) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "checkpoint {0} was written beside {1}, which is later and not of this"
                            + " training, but would be the first to be resumed from. Give each training"
                            + " a folder of its own, or remove that file.",
                    written,
                    newest);
        }
    }

    /// Why files could not be written or read, and what to do. Exceptions of files often have no more
    /// message than a path.
    String describe(IOException failure) {
        return switch (failure) {
            case DamagedFileException ours -> String.valueOf(ours.getMessage());
            case FileAlreadyExistsException at ->
                    """
                    %s is there already, and is no folder
                    Remove it, or name another folder in Checkpoints.in."""
                            .formatted(at.getFile());
            case NoSuchFileException at ->
                    """
                    %s is not there, and cannot be made
                    Name another folder in Checkpoints.in, on a file system that rank 0 may write to."""
                            .formatted(at.getFile());
            case AccessDeniedException at ->
                    """
                    the user that rank 0 runs as may not use %s
                    Change its owner or mode, or name another folder in Checkpoints.in."""
                            .formatted(at.getFile());
            default ->
                    """
                    %s cannot be used: %s
                    Name another folder in Checkpoints.in, or see that this one can be written to and has room."""
                            .formatted(folder, failure.getMessage());
        };
    }

    private Path file(int epoch) {
        return folder.resolve(String.format(Locale.ROOT, "epoch-%04d.checkpoint", epoch));
    }

    /// The newest checkpoint that is whole, or none if there is no checkpoint at all. Damaged ones
    /// are left where they are, with a line in the log.
    ///
    /// @throws DamagedFileException when there are checkpoints, and all are damaged
    Optional<LoadedCheckpoint> loadNewest(Arena arena) throws IOException {
        StringBuilder damaged = new StringBuilder();
        for (Path file : newestFirst()) {
            try {
                return Optional.of(new LoadedCheckpoint(file, CheckpointFile.read(file, arena)));
            } catch (DamagedFileException e) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "checkpoint {0} cannot be used: {1}. Looking for an older one.",
                        file,
                        e.getMessage());
                damaged.append("\n  %s: %s".formatted(file, e.getMessage()));
            }
        }
        if (damaged.isEmpty()) {
            return Optional.empty();
        }
        throw new DamagedFileException(
                "no checkpoint in %s can be used%s\nRemove them to start from the beginning."
                        .formatted(folder, damaged));
    }

    private List<Path> newestFirst() throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> NAME.matcher(name(file)).matches())
                    .sorted(Comparator.comparingLong(CheckpointFolder::epoch).reversed())
                    .toList();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static String name(Path file) {
        return String.valueOf(file.getFileName());
    }

    private static long epoch(Path file) {
        return Long.parseLong(NAME.matcher(name(file)).replaceFirst("$1"));
    }

    /// A whole checkpoint, and where it was.
    record LoadedCheckpoint(Path path, CheckpointFile file) {}
}
