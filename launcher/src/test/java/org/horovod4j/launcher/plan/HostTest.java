package org.horovod4j.launcher.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostTest {
    @Test
    void aListKeepsItsOrder() {
        assertThat(Host.list("b-1.example:2,a:16"))
                .containsExactly(new Host("b-1.example", 2), new Host("a", 16));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "a", "a:", ":2", "a:x", "a:-1", "a:1,", "a b:1", "a:9999999", "a:1;b:1"})
    void aMalformedHostIsRefusedWithAnExample(String text) {
        assertThatThrownBy(() -> Host.list(text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("localhost:4");
    }

    @Test
    void aHostWithoutSlotsIsRefused() {
        assertThatThrownBy(() -> Host.list("a:0")).hasMessageContaining("'a' has no slots");
    }

    @Test
    void aHostNamedTwiceIsRefused() {
        assertThatThrownBy(() -> Host.list("a:1,b:1,a:1"))
                .hasMessageContaining("'a' appears twice");
    }
}
