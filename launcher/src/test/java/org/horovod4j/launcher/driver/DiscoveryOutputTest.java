package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DiscoveryOutputTest {
    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "\n \n", "# none\n"})
    void emptyOutputHasNoHosts(String text) throws Exception {
        assertThat(DiscoveryScript.parse(text, null)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a:2\nb:1", "a:2\nb:1\n", "\n a:2 # good\n\n\tb:1\r\n\n"})
    void eachLineIsOneHost(String text) throws Exception {
        assertThat(DiscoveryScript.parse(text, null))
                .containsExactly(new Host("a", 2), new Host("b", 1));
    }

    @Test
    void missingSlotsUseDefault() throws Exception {
        assertThat(DiscoveryScript.parse("a\nme@b:1\n[fd00::7]", 4))
                .containsExactly(
                        new Host("a", 4),
                        new Host("b", 1, new Login("me", null, null)),
                        new Host("fd00::7", 4));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'a:1\nb' | line 2 gives no slots for 'b': print b:4, or set --slots-per-host",
                "'a:1\na:2' | line 2 names host 'a' again",
                "'Traceback (most recent call last):' | line 1 is 'Traceback (most recent",
                "'-oProxyCommand=x:1' | is not a host: print lines such as gpu1:4",
                "'a:0' | line 1: host 'a' has no slots",
                "'a:1234567' | is not a host"
            })
    void invalidLineRejectsWholeOutput(String text, String message) {
        assertThatThrownBy(() -> DiscoveryScript.parse(text, null))
                .isInstanceOf(DiscoveryException.class)
                .hasMessageContaining(message);
    }

    @Test
    void longInvalidLineIsTruncatedInMessage() {
        assertThatThrownBy(() -> DiscoveryScript.parse("<html>" + "x".repeat(100_000), null))
                .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(200));
    }
}
