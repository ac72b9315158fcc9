package org.horovod4j.file;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Optional;
import java.util.Set;

/// Checks who may read or change a file or folder.
public final class PrivatePath {
    /// Only the owner may do anything.
    public static final Set<PosixFilePermission> OWNER_ONLY_FOLDER =
            PosixFilePermissions.fromString("rwx------");

    /// Only the owner may read and write.
    public static final Set<PosixFilePermission> OWNER_ONLY_FILE =
            PosixFilePermissions.fromString("rw-------");

    /// Only the owner may write.
    private static final Set<PosixFilePermission> OWNER_WRITES =
            PosixFilePermissions.fromString("rwxr-xr-x");

    /// Its owner is the user of this process, even when the user has no name.
    private static final Path SELF = Path.of("/proc/self");

    private static final int STICKY = 0_1000;
    private static final int ROOT = 0;

    private PrivatePath() {}

    /// Permissions for a new file or folder in `folder`. Empty where files have none, as on Windows:
    /// there the folders of a user are closed to others.
    public static FileAttribute<?>[] withPermissions(
            Path folder, Set<PosixFilePermission> permissions) {
        return hasPermissions(folder)
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(permissions)}
                : new FileAttribute<?>[0];
    }

    private static boolean hasPermissions(Path path) {
        return path.getFileSystem().supportedFileAttributeViews().contains("posix");
    }

    /// Whether a path belongs to another user: "belongs to root, not to me, the user of this
    /// process". Links are not followed.
    public static Optional<String> foreignOwner(Path path) throws IOException {
        UserPrincipal owner = Files.getOwner(path, LinkOption.NOFOLLOW_LINKS);
        UserPrincipal self = currentUser();
        return owner.equals(self)
                ? Optional.empty()
                : Optional.of(
                        "belongs to %s, not to %s, the user of this process"
                                .formatted(owner, self.getName()));
    }

    /// Whether a path is a link or grants more than `allowed`: "a link" or "rwxrwxr-x". Files without
    /// permissions grant nothing.
    public static Optional<String> exposure(Path path, Set<PosixFilePermission> allowed)
            throws IOException {
        if (!hasPermissions(path)) {
            return Files.isSymbolicLink(path) ? Optional.of("a link") : Optional.empty();
        }
        PosixFileAttributes found =
                Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (found.isSymbolicLink()) {
            return Optional.of("a link");
        }
        return allowed.containsAll(found.permissions())
                ? Optional.empty()
                : Optional.of(PosixFilePermissions.toString(found.permissions()));
    }

    /// Whether another user could replace a file or folder that this process is about to trust:
    /// "/tmp/a is rwxrwxrwx". The path itself must belong to this user. A folder above it may also
    /// belong to root, and may be open to all if it is sticky, as `/tmp` is.
    public static Optional<String> replaceable(Path path) throws IOException {
        Optional<String> owner = foreignOwner(path);
        if (owner.isPresent()) {
            return owner.map(how -> "%s %s".formatted(path, how));
        }
        Optional<String> exposure = exposure(path, OWNER_WRITES);
        if (exposure.isPresent()) {
            return exposure.map(how -> "%s is %s".formatted(path, how));
        }
        for (Path folder = path.toRealPath().getParent();
                folder != null && hasPermissions(folder);
                folder = folder.getParent()) {
            Optional<String> problem = replaceableParent(folder);
            if (problem.isPresent()) {
                return problem;
            }
        }
        return Optional.empty();
    }

    private static Optional<String> replaceableParent(Path folder) throws IOException {
        if (!Files.getAttribute(folder, "unix:uid").equals(ROOT)) {
            Optional<String> owner = foreignOwner(folder);
            if (owner.isPresent()) {
                return owner.map(how -> "%s %s".formatted(folder, how));
            }
        }
        boolean isSticky = ((Integer) Files.getAttribute(folder, "unix:mode") & STICKY) != 0;
        return isSticky
                ? Optional.empty()
                : exposure(folder, OWNER_WRITES).map(how -> "%s is %s".formatted(folder, how));
    }

    private static UserPrincipal currentUser() throws IOException {
        return Files.exists(SELF)
                ? Files.getOwner(SELF)
                : Path.of("")
                        .getFileSystem()
                        .getUserPrincipalLookupService()
                        .lookupPrincipalByName(System.getProperty("user.name"));
    }
}
