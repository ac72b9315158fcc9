package org.horovod4j.rendezvous;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
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
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Optional;
import java.util.Set;

/// A folder that all hosts of a job share, in which rank 0 leaves word for the others.
///
/// Whoever can read the file can join the job, so the folder belongs to one user and lets nobody
/// else in; a file or folder for which that does not hold is refused rather than mended, since it
/// may have been read or planted already.
public final class RendezvousFolder {
    private static final Logger LOGGER = Log.of(RendezvousFolder.class);
    private static final Set<PosixFilePermission> OWNER_ONLY_FOLDER =
            PosixFilePermissions.fromString("rwx------");
    private static final Set<PosixFilePermission> OWNER_ONLY_FILE =
            PosixFilePermissions.fromString("rw-------");

    /// Its owner is the user of this process, however the name of that user is found or not found.
    private static final Path SELF = Path.of("/proc/self");

    private final Path folder;

    public RendezvousFolder(Path folder) {
        this.folder = folder.toAbsolutePath();
    }

    /// The file by which the ranks of `job` meet.
    public Path file(String job) {
        return folder.resolve(job.replaceAll("[^\\w.@-]", "_"));
    }

    /// Puts the file there, in one step, in place of any that an earlier run has left.
    ///
    /// @throws ConfigurationException when the folder cannot be made or written to, or others may
    ///     enter
    public void publish(String job, RendezvousServerInfo rendezvousServerInfo) {
        try {
            ensureUsable();
            Path draft = Files.createTempFile(folder, ".draft", "", ownerOnly(OWNER_ONLY_FILE));
            try {
                Files.writeString(draft, rendezvousServerInfo.encode());
                Files.move(draft, file(job), StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(draft);
            }
        } catch (IOException e) {
            throw unusable("leaving word of the place to meet", file(job), e);
        }
    }

    /// Takes the file away, if it is still there. One that stays harms nobody: its server does not
    /// answer when the job is over.
    public void remove(String job) {
        try {
            Files.deleteIfExists(file(job));
        } catch (IOException e) {
            LOGGER.log(Level.WARNING, "Cannot remove " + file(job) + ", which is used up", e);
        }
    }

    /// What is there now, if anything is.
    ///
    /// @throws MalformedMessageException when it is not an invitation, perhaps of another version
    /// @throws ConfigurationException when others may enter the folder or read the file, or could
    ///     have put it there
    Optional<RendezvousServerInfo> find(String job) throws MalformedMessageException {
        Path file = file(job);
        try {
            ensureUsable();
        } catch (IOException e) {
            throw unusable("looking for the place to meet", file, e);
        }
        try {
            if (!isListed(file)) {
                return Optional.empty();
            }
            check(file, OWNER_ONLY_FILE, "600");
            return Optional.of(RendezvousServerInfo.decode(read(file)));
        } catch (MalformedMessageException e) {
            throw e;
        } catch (NoSuchFileException e) {
            return Optional.empty(); // taken away in between
        } catch (IOException e) {
            throw unusable("looking for the place to meet", file, e);
        }
    }

    /// A network file system may fail while the file is being replaced, so a failure is not the
    /// last word.
    private static String read(Path file) throws MalformedMessageException, NoSuchFileException {
        try {
            return Files.readString(file, UTF_8);
        } catch (NoSuchFileException e) {
            throw e;
        } catch (IOException e) {
            throw new MalformedMessageException("it cannot be read: " + e);
        }
    }

    /// Asked of the folder rather than of the file: a network file system remembers for up to a
    /// minute that a file was missing, but looks anew whenever a folder is opened.
    private boolean isListed(Path file) throws IOException {
        try (DirectoryStream<Path> found =
                Files.newDirectoryStream(folder, each -> each.equals(file))) {
            return found.iterator().hasNext();
        }
    }

    /// All ranks of a first job make the folder at once, and each then uses the one that is there.
    private void ensureUsable() throws IOException {
        if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            create();
        }
        check(folder, OWNER_ONLY_FOLDER, "700");
    }

    private void create() throws IOException {
        if (folder.getParent() != null) {
            Files.createDirectories(folder.getParent());
        }
        try {
            Files.createDirectory(folder, ownerOnly(OWNER_ONLY_FOLDER));
        } catch (FileAlreadyExistsException e) {
            LOGGER.log(Level.DEBUG, "Another rank has made {0} in between", folder);
        }
    }

    private static FileAttribute<?> ownerOnly(Set<PosixFilePermission> permissions) {
        return PosixFilePermissions.asFileAttribute(permissions);
    }

    private static void check(Path path, Set<PosixFilePermission> allowed, String mode)
            throws IOException {
        PosixFileAttributes found =
                Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        UserPrincipal self = currentUser();
        if (!found.owner().equals(self)) {
            throw new ConfigurationException(
                    "%s belongs to %s, not to %s, who runs this process. Remove it, or set"
                                    .formatted(path, found.owner(), self.getName())
                            + " HOROVOD_RENDEZVOUS_FOLDER to a folder that is not there yet.");
        }
        if (found.isSymbolicLink() || !allowed.containsAll(found.permissions())) {
            throw new ConfigurationException(
                    "%s is %s, so others than its owner may get at the job's secret. Try chmod %s,"
                                    .formatted(
                                            path,
                                            found.isSymbolicLink()
                                                    ? "a link"
                                                    : PosixFilePermissions.toString(
                                                            found.permissions()),
                                            mode)
                            + " or set HOROVOD_RENDEZVOUS_FOLDER to a folder that is not there yet.");
        }
    }

    private static UserPrincipal currentUser() throws IOException {
        return Files.exists(SELF)
                ? Files.getOwner(SELF)
                : Path.of("")
                        .getFileSystem()
                        .getUserPrincipalLookupService()
                        .lookupPrincipalByName(System.getProperty("user.name"));
    }

    private ConfigurationException unusable(String doing, Path file, IOException e) {
        return new ConfigurationException(
                """
                %s, %s: %s cannot be made, or not be written to (%s)
                Set HOROVOD_RENDEZVOUS_FOLDER to a folder that all hosts share and this user may write to."""
                        .formatted(doing, file, folder, e),
                e);
    }
}
