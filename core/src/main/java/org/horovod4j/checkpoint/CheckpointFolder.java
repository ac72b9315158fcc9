package org.horovod4j.checkpoint;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.Tensor;
import org.horovod4j.checkpoint.CheckpointFile.DamagedFileException;
import org.horovod4j.log.Log;
import org.horovod4j.training.TensorBroadcast;
import org.horovod4j.training.TensorSpec;
import org.jspecify.annotations.Nullable;

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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The checkpoints of one training in one folder of rank 0, named by epoch or step:
/// `epoch-0003.checkpoint`.
///
/// A file gets its name when all of it is on the disk.
///
/// @param folder created when it is missing
/// @param kept how many of the newest checkpoints are kept
/// @param unit what the numbers of checkpoints count
public record CheckpointFolder(Path folder, int kept, Unit unit) {
    private static final System.Logger LOG = Log.of(CheckpointFolder.class);

    /// What the numbers of checkpoints count.
    public enum Unit {
        EPOCH,
        STEP;

        private final Pattern name = Pattern.compile(this + "-(\\d+)\\.checkpoint");

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /// Checkpoints of epochs.
    public CheckpointFolder(Path folder, int kept) {
        this(folder, kept, Unit.EPOCH);
    }

    /// Writes a checkpoint on rank 0. All ranks call this.
    ///
    /// @param number of the epoch or step; part of the file's name
    /// @param metadata numbers and names that the training needs to resume
    /// @param tensors by name
    /// @throws CheckpointException on all ranks, when rank 0 cannot write it
    public void save(
            Communicator communicator,
            int number,
            Map<String, String> metadata,
            Map<String, Tensor> tensors) {
        Map<String, String> _ =
                onRankZero(
                        communicator,
                        "save the checkpoint of %s %d".formatted(unit, number),
                        () -> {
                            Map<String, Supplier<Tensor>> suppliers = new LinkedHashMap<>();
                            tensors.forEach((name, tensor) -> suppliers.put(name, () -> tensor));
                            write(number, metadata, suppliers);
                            return Map.of();
                        });
    }

    /// Restores the newest checkpoint on rank 0, if there is one, then overwrites the tensors of all
    /// ranks with those of rank 0. All ranks call this.
    ///
    /// @return the metadata of the checkpoint; empty if there is none
    /// @throws CheckpointException on all ranks, when rank 0 cannot use the folder, or has
    ///     checkpoints and cannot use any, or the newest has other tensors
    public Map<String, String> resume(Communicator communicator, Map<String, Tensor> tensors) {
        Map<String, String> metadata =
                onRankZero(communicator, "resume training", () -> restore(tensors));
        TensorBroadcast.run(communicator, "checkpoint", tensors, 0);
        return metadata;
    }

    private Map<String, String> restore(Map<String, Tensor> tensors) throws IOException {
        prepare();
        try (Arena arena = Arena.ofConfined()) {
            Optional<LoadedCheckpoint> newest = loadNewest(arena);
            if (newest.isEmpty()) {
                return Map.of();
            }
            CheckpointFile file = newest.get().file();
            List<String> problems = TensorSpec.differences(file.specs(), TensorSpec.ofAll(tensors));
            if (!problems.isEmpty()) {
                throw new IllegalStateException(
                        "%s is a checkpoint of another training: this one %s. Use another folder for it."
                                .formatted(newest.get().path(), String.join("; ", problems)));
            }
            file.tensors()
                    .forEach(
                            (name, stored) ->
                                    Objects.requireNonNull(tensors.get(name), name)
                                            .segment()
                                            .copyFrom(stored.bytes()));
            return file.metadata();
        }
    }

    /// What rank 0 does with files.
    public interface RankZeroTask {
        /// Returns what all ranks receive.
        Map<String, String> run() throws IOException;
    }

    /// Runs a task on rank 0 and returns its result on all ranks. All ranks call this.
    ///
    /// @param action what the task does, as in "could not save the checkpoint"
    /// @throws CheckpointException on all ranks, when the task throws on rank 0
    public Map<String, String> onRankZero(
            Communicator communicator, String action, RankZeroTask task) {
        @Nullable Exception failure = null;
        Map<String, String> result = Map.of();
        if (communicator.rank() == 0) {
            try {
                result = task.run();
            } catch (IOException | RuntimeException e) {
                failure = e;
            }
        }
        Optional<String> reason = Optional.ofNullable(failure).map(this::describe);
        Outcome outcome =
                communicator.broadcastObject("checkpoint", new Outcome(reason, result), 0);
        if (outcome.failure.isPresent()) {
            throw new CheckpointException(
                    "rank 0 could not %s: %s".formatted(action, outcome.failure.get()), failure);
        }
        return outcome.result;
    }

    private record Outcome(Optional<String> failure, Map<String, String> result) {}

    /// Creates the folder and checks that files can be written there, before training starts.
    public void prepare() throws IOException {
        Files.createDirectories(folder);
        Path trial = Files.createTempFile(folder, ".trial", ".partial");
        Files.delete(trial);
    }

    /// Writes the checkpoint of an epoch or step, replacing an existing one, and removes the oldest
    /// ones. It never removes the one just written, even if another training has left later ones.
    ///
    /// @param tensors by name; each is asked for once, when it is written
    public void write(
            int number, Map<String, String> metadata, Map<String, Supplier<Tensor>> tensors)
            throws IOException {
        Files.createDirectories(folder);
        Path partial = folder.resolve(".%s-%04d.partial".formatted(unit, number));
        Files.deleteIfExists(partial);
        try {
            CheckpointFile.write(partial, metadata, tensors);
            Files.move(partial, file(number), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(partial);
        }
        List<Path> all = newestFirst();
        warnIfLaterExists(file(number), all.getFirst());
        for (Path old : all.stream().skip(kept).toList()) {
            if (!old.equals(file(number))) {
                Files.deleteIfExists(old);
            }
        }
    }

    /// A training writes its checkpoints in order and resumes from the newest. So a later file belongs to
    /// another training or is damaged.
    private void warnIfLaterExists(Path written, Path newest) {
        if (number(newest) > number(written)) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "checkpoint {0} was written, but {1} in the same folder has a later {2} and"
                            + " belongs to another training, which would be resumed first. Use one"
                            + " folder for each training, or remove that file.",
                    written,
                    newest,
                    unit);
        }
    }

    /// The newest complete checkpoint; empty if there is none. Damaged files stay in the folder; a
    /// warning is logged for each.
    ///
    /// @param arena keeps the file mapped
    /// @throws DamagedFileException when there are checkpoints, and all are damaged
    public Optional<LoadedCheckpoint> loadNewest(Arena arena) throws IOException {
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

    private String describe(Exception failure) {
        return switch (failure) {
            case IOException e -> describe(e);
            case HorovodException e -> String.valueOf(e.getMessage());
            case IllegalStateException e -> String.valueOf(e.getMessage());
            default -> failure.toString();
        };
    }

    /// Why files could not be written or read, and what to do. The message of an exception of the
    /// file system is often only a path.
    String describe(IOException failure) {
        return switch (failure) {
            case DamagedFileException e -> String.valueOf(e.getMessage());
            case FileAlreadyExistsException e ->
                    """
                    %s exists and is not a folder
                    Remove it, or use another folder for checkpoints."""
                            .formatted(e.getFile());
            case NoSuchFileException e ->
                    """
                    %s does not exist and cannot be created
                    Use another folder for checkpoints, on a file system that rank 0 may write to."""
                            .formatted(e.getFile());
            case AccessDeniedException e ->
                    """
                    the user of rank 0 may not use %s
                    Change its owner or mode, or use another folder for checkpoints."""
                            .formatted(e.getFile());
            default ->
                    """
                    %s cannot be used: %s
                    Use another folder for checkpoints, or check that this one is writable and has free space."""
                            .formatted(folder, failure.getMessage());
        };
    }

    private Path file(int number) {
        return folder.resolve(String.format(Locale.ROOT, "%s-%04d.checkpoint", unit, number));
    }

    private List<Path> newestFirst() throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> unit.name.matcher(name(file)).matches())
                    .sorted(Comparator.comparingLong(this::number).reversed())
                    .toList();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static String name(Path file) {
        return String.valueOf(file.getFileName());
    }

    private long number(Path file) {
        return Long.parseLong(unit.name.matcher(name(file)).replaceFirst("$1"));
    }

    /// A complete checkpoint and its path.
    public record LoadedCheckpoint(Path path, CheckpointFile file) {}
}
