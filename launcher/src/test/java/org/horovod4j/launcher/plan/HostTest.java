package org.horovod4j.launcher.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostTest {
    @Test
    void listKeepsOrder() {
        assertThat(Host.list("b-1.example:2,a:16"))
                .containsExactly(new Host("b-1.example", 2), new Host("a", 16));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "a:",
                ":2",
                "a:x",
                "a:-1",
                "a:1,",
                "a b:1",
                "a:9999999",
                "a:1;b:1",
                "-oX:1",
                "@a:1",
                "-l@a:1",
                "a@:1"
            })
    void malformedHostIsRejectedWithExample(String text) {
        assertThatThrownBy(() -> Host.list(text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("localhost:4");
    }

    @Test
    void hostHasOneSlotByDefault() {
        assertThat(Host.list("a,b:2")).containsExactly(new Host("a", 1), new Host("b", 2));
    }

    @Test
    void usersAndIpv6AddressesAreParsed() {
        assertThat(Host.list("me@a:2,[fd00::7]:4"))
                .containsExactly(
                        new Host("a", 2, new Login("me", null, null)), new Host("fd00::7", 4));
        assertThat(Host.list("[fd00::7]:4").getFirst()).hasToString("[fd00::7]:4");
    }

    @ParameterizedTest
    @ValueSource(strings = {"fd00::7:4", "::1:2"})
    void anIpv6AddressNeedsBrackets(String text) {
        assertThatThrownBy(() -> Host.list(text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("in brackets, as in [fd00::7]:4");
    }

    @Test
    void hostWithoutSlotsIsRefused() {
        assertThatThrownBy(() -> Host.list("a:0")).hasMessageContaining("'a' has no slots");
    }

    @Test
    void hostNamedTwiceIsRefused() {
        assertThatThrownBy(() -> Host.list("a:1,b:1,a:1"))
                .hasMessageContaining("'a' appears twice");
    }
}
