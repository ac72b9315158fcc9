package org.horovod4j.file;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/// Hands the secret of a job to a process, in a file that the process removes when it has read it.
///
/// An environment variable would show it in a Flight Recorder file, in every dump of the
/// environment and in all child processes.
public final class SecretFile {
    /// Memory rather than a disk, where there is one.
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    /// What this process has read. A file can be read once, but a process may join several times.
    private static final Map<Path, String> TAKEN = new ConcurrentHashMap<>();

    private SecretFile() {}

    /// Creates a folder for files of this kind, which only this user can enter.
    public static Path createFolder() throws IOException {
        Path parent =
                Files.isDirectory(SHARED_MEMORY) && Files.isWritable(SHARED_MEMORY)
                        ? SHARED_MEMORY
                        : Path.of(System.getProperty("java.io.tmpdir"));
        return Files.createTempDirectory(
                parent,
                "hvd-secret-",
                PrivatePath.withPermissions(parent, PrivatePath.OWNER_ONLY_FOLDER));
    }

    /// Writes a new file that only this user can read.
    public static void write(Path file, String secret) throws IOException {
        Files.createFile(file, PrivatePath.withPermissions(file, PrivatePath.OWNER_ONLY_FILE));
        Files.writeString(file, secret, UTF_8);
    }

    /// Reads a file and removes it. Later calls of this process return the same text.
    ///
    /// @throws ConfigurationException when it cannot be read, or other users can read it
    public static String take(Path file) {
        return TAKEN.computeIfAbsent(file.toAbsolutePath(), SecretFile::readAndRemove);
    }

    private static String readAndRemove(Path file) {
        try {
            checkPrivate(file);
            String secret;
            try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
                secret = new String(in.readAllBytes(), UTF_8).strip();
            }
            Files.delete(file);
            return secret;
        } catch (NoSuchFileException e) {
            throw new ConfigurationException(
                    """
                    reading the job's secret: HOROVOD_SECRET_FILE is %s, which does not exist
                    The first process that joins as a rank removes it. Join from one process of each rank, on the host \
                    of that rank and outside of containers that hide the file."""
                            .formatted(file),
                    e);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    reading the job's secret: the file %s cannot be read and removed (%s)
                    Run the program as the user who started the job, or set HOROVOD_SECRET_KEY instead."""
                            .formatted(file, e),
                    e);
        }
    }

    private static void checkPrivate(Path file) throws IOException {
        Optional<String> owner = PrivatePath.foreignOwner(file);
        Optional<String> problem =
                owner.isPresent()
                        ? owner
                        : PrivatePath.exposure(file, PrivatePath.OWNER_ONLY_FILE)
                                .map(found -> "is " + found);
        if (problem.isPresent()) {
            throw new ConfigurationException(
                    "reading the job's secret: %s %s. Only its owner may read it: use chmod 600, as that user."
                            .formatted(file, problem.get()));
        }
    }
}
