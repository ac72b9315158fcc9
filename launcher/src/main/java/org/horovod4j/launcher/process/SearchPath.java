package org.horovod4j.launcher.process;

import org.horovod4j.ConfigurationException;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// The folders of `PATH`.
///
/// The launcher looks for commands before it starts anything. So a misspelt command gives one
/// message and not one for each rank.
public record SearchPath(List<Path> folders) {
    public SearchPath {
        folders = List.copyOf(folders);
    }

    /// Parses a path.
    ///
    /// @param text the value of `PATH`; an empty part means the current folder
    public static SearchPath of(String text) {
        return new SearchPath(
                Stream.of(text.split(File.pathSeparator, -1))
                        .map(part -> Path.of(part.isEmpty() ? "." : part))
                        .toList());
    }

    /// The file that `command` would run.
    ///
    /// @throws ConfigurationException when there is none
    public Path find(String command) {
        return lookUp(command)
                .orElseThrow(
                        () ->
                                new ConfigurationException(
                                        command.contains("/")
                                                ? unusable(Path.of(command))
                                                : notFound(command)));
    }

    /// Like [#find], for a command that may be missing.
    public Optional<Path> lookUp(String command) {
        return command.contains("/")
                ? Optional.of(Path.of(command)).filter(SearchPath::isProgram)
                : folders.stream()
                        .map(folder -> folder.resolve(command))
                        .filter(SearchPath::isProgram)
                        .findFirst();
    }

    private static boolean isProgram(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }

    private static String unusable(Path file) {
        if (Files.isDirectory(file)) {
            return "command '%s' is a folder. Name the program inside it.".formatted(file);
        }
        if (Files.exists(file)) {
            return "command '%s' may not be executed. Try chmod +x on it.".formatted(file);
        }
        return "command '%s' not found, seen from %s. Check its path."
                .formatted(file, Path.of("").toAbsolutePath());
    }

    private String notFound(String command) {
        String tried = String.join(", ", folders.stream().map(Path::toString).toList());
        return "command '%s' not found in the folders of PATH (%s). Check the name or give a path."
                .formatted(command, tried);
    }
}
