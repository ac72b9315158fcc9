package org.horovod4j.launcher.remote;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// The settings of all remote hosts of a job.
///
/// @param jobVariable the variable and value, in the form `NAME=value`, that mark its processes
/// @param heartbeatTimeout how long a host may be silent
/// @param startTimeout how long the setup of a host may take
/// @param folder where its processes run: the launcher's working folder
/// @param java the `java` to use there; null for the launcher's own path or the one on the `PATH`
/// @param copies files and folders that are copied to each host
/// @param environment of the launcher
public record RemoteHostSettings(
        String jobVariable,
        Duration heartbeatTimeout,
        Duration startTimeout,
        Path folder,
        @Nullable String java,
        List<Path> copies,
        Map<String, String> environment) {
    /// @throws ConfigurationException when a file to copy cannot be read
    public RemoteHostSettings {
        copies = List.copyOf(copies);
        environment = Map.copyOf(environment);
        copies.forEach(RemoteHostSettings::requireReadable);
    }

    private static void requireReadable(Path copy) {
        try (Stream<Path> files = Files.walk(copy)) {
            Path unreadable =
                    files.filter(file -> Files.isRegularFile(file) && !Files.isReadable(file))
                            .findFirst()
                            .orElse(null);
            if (unreadable != null) {
                throw unreadable(unreadable, null);
            }
        } catch (UncheckedIOException e) { // a folder inside
            throw unreadable(copy, e.getCause());
        } catch (IOException e) {
            throw unreadable(copy, e);
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
