package org.horovod4j.rendezvous;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.file.PrivatePath;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Optional;
import java.util.Set;

/// A folder that all hosts of a job share. Rank 0 writes a file there that tells the others how to
/// reach the server.
///
/// A process that can read the file can join the job. So folder and file must belong to the user
/// and be closed to all others. If they are not, they are refused and left as they are: the file
/// may have been read or planted already.
public final class RendezvousFolder {
    private static final Logger LOGGER = Log.of(RendezvousFolder.class);

    private final Path folder;

    public RendezvousFolder(Path folder) {
        this.folder = folder.toAbsolutePath();
    }

    /// The file for the ranks of `job`.
    public Path file(String job) {
        return folder.resolve(job.replaceAll("[^\\w.@-]", "_"));
    }

    /// Writes the file, atomically. Replaces a file that an earlier run left.
    ///
    /// @throws ConfigurationException when the folder cannot be created or written to, or other
    ///     users may enter it
    public void publish(String job, RendezvousServerInfo info) {
        try {
            ensureUsable();
            Path draft =
                    Files.createTempFile(
                            folder,
                            ".draft",
                            "",
                            PrivatePath.withPermissions(folder, PrivatePath.OWNER_ONLY_FILE));
            try {
                Files.writeString(draft, info.encode());
                Files.move(draft, file(job), StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(draft);
            }
        } catch (IOException e) {
            throw unusable("writing the rendezvous file", file(job), e);
        }
    }

    /// Removes the file, if it still exists. A file that stays does no harm: its server does not
    /// answer after the job.
    public void remove(String job) {
        try {
            Files.deleteIfExists(file(job));
        } catch (IOException e) {
            LOGGER.log(
                    Level.WARNING, "Cannot remove " + file(job) + ", which is no longer needed", e);
        }
    }

    /// The contents of the file, if it exists.
    ///
    /// @throws MalformedMessageException when the file is not valid, perhaps of another version
    /// @throws ConfigurationException when other users may enter the folder, read the file, or
    ///     could have written it
    Optional<RendezvousServerInfo> find(String job) throws MalformedMessageException {
        Path file = file(job);
        try {
            ensureUsable();
        } catch (IOException e) {
            throw unusable("looking for the rendezvous file", file, e);
        }
        try {
            if (!isListed(file)) {
                return Optional.empty();
            }
            check(file, PrivatePath.OWNER_ONLY_FILE, "600");
            return Optional.of(RendezvousServerInfo.decode(read(file)));
        } catch (MalformedMessageException e) {
            throw e;
        } catch (NoSuchFileException e) {
            return Optional.empty(); // removed in between
        } catch (IOException e) {
            throw unusable("looking for the rendezvous file", file, e);
        }
    }

    /// A network file system may fail while the file is being replaced. So the caller tries again
    /// after a failure.
    private static String read(Path file) throws MalformedMessageException, NoSuchFileException {
        try {
            return Files.readString(file, UTF_8);
        } catch (NoSuchFileException e) {
            throw e;
        } catch (IOException e) {
            throw new MalformedMessageException("it cannot be read: " + e);
        }
    }

    /// Lists the folder instead of testing the file: a network file system caches for up to a
    /// minute that a file is missing, but refreshes when a folder is opened.
    private boolean isListed(Path file) throws IOException {
        try (DirectoryStream<Path> found =
                Files.newDirectoryStream(folder, each -> each.equals(file))) {
            return found.iterator().hasNext();
        }
    }

    /// All ranks of a user's first job create the folder at once. Each then uses the one that
    /// exists.
    private void ensureUsable() throws IOException {
        if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            create();
        }
        check(folder, PrivatePath.OWNER_ONLY_FOLDER, "700");
    }

    private void create() throws IOException {
        if (folder.getParent() != null) {
            Files.createDirectories(folder.getParent());
        }
        try {
            Files.createDirectory(
                    folder, PrivatePath.withPermissions(folder, PrivatePath.OWNER_ONLY_FOLDER));
        } catch (FileAlreadyExistsException e) {
            LOGGER.log(Level.DEBUG, "Another rank has created {0} in between", folder);
        }
    }

    private static void check(Path path, Set<PosixFilePermission> allowed, String mode)
            throws IOException {
        Optional<String> owner = PrivatePath.foreignOwner(path);
        if (owner.isPresent()) {
            throw new ConfigurationException(
                    "%s %s. Remove it, or set".formatted(path, owner.get())
                            + " HOROVOD_RENDEZVOUS_FOLDER to a folder that does not exist yet.");
        }
        Optional<String> exposure = PrivatePath.exposure(path, allowed);
        if (exposure.isPresent()) {
            throw new ConfigurationException(
                    "%s is %s, so other users may read the job's secret. Try chmod %s,"
                                    .formatted(path, exposure.get(), mode)
                            + " or set HOROVOD_RENDEZVOUS_FOLDER to a folder that does not exist yet.");
        }
    }

    private ConfigurationException unusable(String doing, Path file, IOException e) {
        return new ConfigurationException(
                """
                %s %s: the folder %s cannot be created or written to (%s)
                Set HOROVOD_RENDEZVOUS_FOLDER to a folder that all hosts share and this user may write to."""
                        .formatted(doing, file, folder, e),
                e);
    }
}
