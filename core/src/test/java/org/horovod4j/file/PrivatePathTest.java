package org.horovod4j.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;

class PrivatePathTest {
    @TempDir Path root;

    @Test
    void ownFolderInStickyFolderIsSafe() throws IOException {
        assertThat(PrivatePath.replaceable(root)).isEmpty();
    }

    @Test
    void pathThatOthersMayWriteIsReplaceable() throws IOException {
        Path folder = Files.createDirectory(root.resolve("open"));
        Path file = Files.createFile(folder.resolve("archive"));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxr-x"));
        assertThat(PrivatePath.replaceable(folder)).contains(folder + " is rwxrwxr-x");
        assertThat(PrivatePath.replaceable(file)).contains(folder + " is rwxrwxr-x");
    }

    @Test
    void linkIsReplaceable() throws IOException {
        Path link = Files.createSymbolicLink(root.resolve("link"), root);
        assertThat(PrivatePath.replaceable(link)).contains(link + " is a link");
    }

    /// As on Windows; here the file system of a zip file.
    @Test
    void fileSystemWithoutPermissionsNeedsNone() throws IOException {
        try (FileSystem zip =
                FileSystems.newFileSystem(root.resolve("files.zip"), Map.of("create", "true"))) {
            Path file = zip.getPath("/secret");
            Files.createFile(file, PrivatePath.withPermissions(file, PrivatePath.OWNER_ONLY_FILE));
            assertThat(PrivatePath.exposure(file, PrivatePath.OWNER_ONLY_FILE)).isEmpty();
        }
    }

    @Test
    void permissionsAreSetWhereFilesHaveThem() throws IOException {
        Path file = root.resolve("secret");
        Files.createFile(file, PrivatePath.withPermissions(root, PrivatePath.OWNER_ONLY_FILE));
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(PrivatePath.OWNER_ONLY_FILE);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertThat(PrivatePath.exposure(file, PrivatePath.OWNER_ONLY_FILE)).contains("rw-r--r--");
    }

    @Test
    void pathBelowFolderOfAnotherUserIsReplaceable() throws IOException {
        assumeTrue(Files.getAttribute(root, "unix:uid").equals(0), "only root can give files away");
        Path theirs = Files.createDirectory(root.resolve("theirs"));
        Path ours = Files.createDirectory(theirs.resolve("ours"));
        Files.setOwner(
                theirs,
                root.getFileSystem()
                        .getUserPrincipalLookupService()
                        .lookupPrincipalByName("nobody"));
        assertThat(PrivatePath.replaceable(ours))
                .hasValueSatisfying(
                        text -> assertThat(text).startsWith(theirs + " belongs to nobody"));
        assertThat(PrivatePath.replaceable(theirs))
                .hasValueSatisfying(text -> assertThat(text).contains("belongs to nobody"));
    }
}
