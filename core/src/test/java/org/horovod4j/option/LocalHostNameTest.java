package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

class LocalHostNameTest {
    private final UnknownHostException unknown = new UnknownHostException("node7: no such name");

    @TempDir Path folder;

    @Test
    void kernelHostNameIsUsedWhenResolverFails() throws Exception {
        Path file = Files.writeString(folder.resolve("hostname"), "node7\n");
        assertThat(LocalHostName.read(file, unknown)).isEqualTo("node7");
    }

    @Test
    void missingHostNameFailsWithRemedy() throws Exception {
        Path empty = Files.writeString(folder.resolve("hostname"), "\n");
        assertUnknown(empty);
        assertUnknown(folder.resolve("missing"));
    }

    private void assertUnknown(Path file) {
        assertThatThrownBy(() -> LocalHostName.read(file, unknown))
                .isInstanceOf(ConfigurationException.class)
                .hasMessage("the name of this machine cannot be found: set HOROVOD_HOSTNAME")
                .hasCause(unknown);
    }
}
