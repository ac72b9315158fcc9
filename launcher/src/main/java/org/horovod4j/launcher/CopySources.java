package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// Checks, before anything is started, that files to copy to hosts can be read.
final class CopySources {
    private CopySources() {}

    /// @param copies files and folders
    /// @throws ConfigurationException when one cannot be read
    static void requireReadable(List<Path> copies) {
        for (Path copy : copies) {
            try (Stream<Path> files = Files.walk(copy)) {
                files.filter(Files::isRegularFile)
                        .filter(file -> !Files.isReadable(file))
                        .findFirst()
                        .ifPresent(
                                file -> {
                                    throw unreadable(file, null);
                                });
            } catch (UncheckedIOException e) { // a folder inside
                throw unreadable(copy, e.getCause());
            } catch (IOException e) {
                throw unreadable(copy, e);
            }
        }
    }

    private static ConfigurationException unreadable(Path path, @Nullable IOException cause) {
        // The message of the system names the folder.
        String reason = cause == null || cause instanceof NoSuchFileException ? "" : ": " + cause;
        return new ConfigurationException(
                """
                '%s', which is to be copied to the hosts, cannot be read from %s%s. Check its path, \
                and that you may read all of it."""
                        .formatted(path, Path.of("").toAbsolutePath(), reason),
                cause);
    }
}
