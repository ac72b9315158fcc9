package org.horovod4j.dl4j;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.bytedeco.javacpp.Loader;
import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;

class JavaCppCheckTest {
    @Test
    void oneVersionIsAccepted() {
        assertThatCode(JavaCppCheck::requireOneVersion).doesNotThrowAnyException();
    }

    @Test
    void twoVersionsAreNamed(@TempDir Path folder) throws Exception {
        Path first =
                Path.of(Loader.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path second = Files.copy(first, folder.resolve("javacpp-9.jar"));
        URL[] both = {first.toUri().toURL(), second.toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(both, null)) {
            assertThatThrownBy(() -> JavaCppCheck.requireOneVersion(loader))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("the class path has JavaCPP 2 times")
                    .hasMessageContaining(first.toString())
                    .hasMessageContaining(second.toString());
        }
    }
}
