package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;

class TorchLibraryTest {
    @Test
    void olderJavaCppIsRefused() {
        assertThatThrownBy(() -> TorchLibrary.requireJavaCpp("1.5.9", "2.10.0-1.5.13"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(
                        "org.bytedeco:pytorch:2.10.0-1.5.13 needs JavaCPP 1.5.13, but the class path has"
                                + " 1.5.9");
    }

    /// A jar with all libraries of a program lacks the files that name versions.
    @Test
    void unknownVersionsAreNotChecked() {
        assertThatNoException()
                .isThrownBy(
                        () -> {
                            TorchLibrary.requireJavaCpp(null, "2.10.0-1.5.13");
                            TorchLibrary.requireJavaCpp("1.5.9", null);
                        });
        assertThat(TorchLibrary.libtorchVersion(null)).isEqualTo("an unknown version");
        assertThat(TorchLibrary.libtorchVersion("2.10.0-1.5.13")).isEqualTo("2.10.0");
    }

    @Test
    void newerJavaCppIsAccepted() {
        assertThatNoException()
                .isThrownBy(
                        () -> {
                            TorchLibrary.requireJavaCpp("1.5.13", "2.10.0-1.5.13");
                            TorchLibrary.requireJavaCpp("1.6", "2.10.0-1.5.13");
                        });
    }
}
