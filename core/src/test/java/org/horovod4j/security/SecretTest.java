package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SecretTest {
    private static final byte[] MESSAGE = {1, 2, 3};

    @Test
    void encodedSecretDecodesBack() {
        Secret secret = Secret.random();

        Secret read = Secret.decode(secret.encode() + "\n");

        assertThat(read.sign(MESSAGE)).isEqualTo(secret.sign(MESSAGE)).hasSize(32);
        assertThat(secret.encode()).matches("[-_A-Za-z0-9]{43}");
    }

    @Test
    void randomSecretsDiffer() {
        assertThat(Secret.random().sign(MESSAGE)).isNotEqualTo(Secret.random().sign(MESSAGE));
    }

    @Test
    void toStringHidesTheSecret() {
        Secret secret = Secret.random();

        assertThat(secret.toString()).doesNotContain(secret.encode());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "c2hvcnQ", "not base64 at all!"})
    void malformedTextIsRefusedWithoutQuotingIt(String text) {
        assertThatThrownBy(() -> Secret.decode(text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("43 characters of base64url")
                .satisfies(
                        e -> {
                            if (!text.isEmpty()) {
                                assertThat(e.getMessage()).doesNotContain(text);
                            }
                        });
    }
}
