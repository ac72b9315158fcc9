package org.horovod4j.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.AbstractThrowableAssert;
import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

class SecretFileTest {
    @TempDir Path root;

    @Test
    void fileIsRemovedWhenReadAndTheSecretStaysKnown() throws IOException {
        Path file = root.resolve("rank");
        SecretFile.write(file, "hunter2\n");
        assertThat(SecretFile.take(file)).isEqualTo("hunter2");
        assertThat(file).doesNotExist();
        assertThat(SecretFile.take(file)).as("at a second init").isEqualTo("hunter2");
    }

    @Test
    void onlyOwnerCanReadFileAndFolder() throws IOException {
        Path folder = SecretFile.createFolder();
        Path file = folder.resolve("rank");
        try {
            SecretFile.write(file, "hunter2");
            assertThat(mode(folder)).isEqualTo("rwx------");
            assertThat(mode(file)).isEqualTo("rw-------");
        } finally {
            Files.deleteIfExists(file);
            Files.delete(folder);
        }
    }

    @Test
    void fileThatOthersMayReadIsRefusedAndLeft() throws IOException {
        Path file = Files.writeString(root.resolve("rank"), "hunter2");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        refused(file).hasMessageContaining("is rw-r--r--").hasMessageContaining("chmod 600");
        assertThat(file).exists();
    }

    @Test
    void linkIsRefused() throws IOException {
        Path file = root.resolve("rank");
        SecretFile.write(file, "hunter2");
        refused(Files.createSymbolicLink(root.resolve("link"), file))
                .hasMessageContaining("is a link");
    }

    @Test
    void missingFileSaysWhoRemovedIt() {
        refused(root.resolve("none"))
                .hasMessageContaining("does not exist")
                .hasMessageContaining("first process that joins as a rank removes it");
    }

    private static AbstractThrowableAssert<?, ?> refused(Path file) {
        return assertThatThrownBy(() -> SecretFile.take(file))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageNotContaining("hunter2");
    }

    private static String mode(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }
}
