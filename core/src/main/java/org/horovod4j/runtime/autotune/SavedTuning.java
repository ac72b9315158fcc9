package org.horovod4j.runtime.autotune;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/// The result of a search, saved in a file for the next run.
///
/// The file has lines `name=value`. Knobs have the names and formats of their options, so that
/// users can copy them.
///
/// @param searchSpace what was searched; the result is valid for that only
/// @param score of the tuning, in bytes per microsecond
record SavedTuning(SearchSpace searchSpace, Tuning tuning, double score) {
    private static final String FORMAT = "1";

    /// Reads what [#write] wrote.
    ///
    /// @return empty if there is no file
    /// @throws ConfigurationException when the file is damaged
    static Optional<SavedTuning> read(Path file) {
        if (Files.notExists(file)) {
            return Optional.empty();
        }
        try (Reader reader = Files.newBufferedReader(file)) {
            Properties lines = new Properties();
            lines.load(reader);
            return Optional.of(parse(lines));
        } catch (CharacterCodingException | IllegalArgumentException e) {
            throw new ConfigurationException(
                    """
                    the tuning that an earlier run saved is damaged
                      file: %s, named by %s
                      found: %s
                    Delete the file; the next run then searches again and writes it."""
                            .formatted(file, "HOROVOD_AUTOTUNE_FILE", e),
                    e);
        } catch (IOException e) {
            throw fileError("read", file, e.toString(), e);
        }
    }

    private static SavedTuning parse(Properties lines) {
        String format = value(lines, "format", text -> text);
        if (!format.equals(FORMAT)) {
            throw new IllegalArgumentException(
                    "format %s, but this version reads format %s".formatted(format, FORMAT));
        }
        Tuning tuning = Tuning.DEFAULT;
        for (Knob knob : Knob.values()) {
            tuning = knob.withValue(tuning, value(lines, knob.variable(), knob::parse));
        }
        SearchSpace searchSpace =
                new SearchSpace(
                        value(lines, "ranks", Integer::valueOf),
                        value(lines, "hosts", Integer::valueOf),
                        value(lines, "searched", SavedTuning::knobs));
        return new SavedTuning(searchSpace, tuning, value(lines, "score", Double::valueOf));
    }

    private static <T> T value(Properties lines, String name, Function<String, T> parse) {
        String text = lines.getProperty(name);
        if (text == null) {
            throw new IllegalArgumentException("there is no line for " + name);
        }
        try {
            return parse.apply(text.strip());
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IllegalArgumentException("%s is '%s'".formatted(name, text), e);
        }
    }

    private static Set<Knob> knobs(String variables) {
        Set<Knob> knobs = EnumSet.noneOf(Knob.class);
        for (String variable : variables.split(" ", -1)) {
            knobs.add(
                    Arrays.stream(Knob.values())
                            .filter(knob -> knob.variable().equals(variable))
                            .findFirst()
                            .orElseThrow(() -> new IllegalArgumentException(variable)));
        }
        return knobs;
    }

    /// Checks that the file can be written, before a search is spent on it.
    ///
    /// @throws ConfigurationException when it cannot
    static void checkWritable(Path file) {
        Path folder = folder(file);
        if (Files.isDirectory(file)) {
            throw fileError("written", file, "it is a folder", null);
        }
        if (!Files.isDirectory(folder)) {
            throw fileError("written", file, "there is no folder " + folder, null);
        }
        if (!Files.isWritable(folder)) {
            throw fileError("written", file, folder + " is not writable", null);
        }
    }

    /// Writes a temporary file and renames it, so that a reader never finds half of it.
    void write(Path file) throws IOException {
        Path draft = Files.createTempFile(folder(file), file.getFileName().toString(), ".tmp");
        try {
            Files.writeString(draft, text());
            Files.move(
                    draft,
                    file,
                    StandardCopyOption.ATOMIC_MOVE,
                    StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(draft);
        }
    }

    private String text() {
        String knobs =
                Arrays.stream(Knob.values())
                        .map(knob -> knob.variable() + "=" + knob.text(knob.read(tuning)))
                        .collect(Collectors.joining("\n"));
        String searched =
                searchSpace.free().stream().map(Knob::variable).collect(Collectors.joining(" "));
        return """
        # Found by the autotuner of Horovod4J. The next run with as many ranks and hosts uses it.
        # Delete this file to search again.
        format=%s
        ranks=%d
        hosts=%d
        searched=%s
        %s
        score=%s
        """
                .formatted(
                        FORMAT, searchSpace.ranks(), searchSpace.hosts(), searched, knobs, score);
    }

    /// The reason why this result cannot be used here, if any.
    Optional<String> mismatchReason(SearchSpace here, Tuning defaults) {
        if (searchSpace.ranks() != here.ranks() || searchSpace.hosts() != here.hosts()) {
            return Optional.of(
                    "it is for %d ranks on %d hosts, but this job has %d on %d"
                            .formatted(
                                    searchSpace.ranks(),
                                    searchSpace.hosts(),
                                    here.ranks(),
                                    here.hosts()));
        }
        return Arrays.stream(Knob.values())
                .filter(knob -> !fits(knob, here, defaults))
                .findFirst()
                .map(knob -> "%s was fixed or free otherwise".formatted(knob.variable()));
    }

    private boolean fits(Knob knob, SearchSpace here, Tuning defaults) {
        boolean isFree = here.free().contains(knob);
        return searchSpace.free().contains(knob) == isFree
                && (isFree || knob.read(tuning) == knob.read(defaults));
    }

    private static Path folder(Path file) {
        Path folder = file.toAbsolutePath().getParent();
        return folder == null ? file : folder;
    }

    private static ConfigurationException fileError(
            String deed, Path file, String reason, @Nullable Throwable cause) {
        return new ConfigurationException(
                """
                the file for the result of the autotuner cannot be %s
                  file: %s
                  reason: %s
                Set %s to another file, or leave it out."""
                        .formatted(deed, file, reason, "HOROVOD_AUTOTUNE_FILE"),
                cause);
    }
}
