package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

final class EphemeralKeyTest {
    /// Enough to include keys whose number is a byte shorter or longer than most.
    private static final int PAIRS = 400;

    @Test
    void bothEndsDeriveTheSameSecret() throws Exception {
        EphemeralKey one = EphemeralKey.generate();
        for (int i = 0; i < PAIRS; i++) {
            EphemeralKey other = EphemeralKey.generate();

            assertThat(other.publicKey()).hasSize(HandshakeHello.KEY_SIZE);
            assertThat(one.sharedSecret(other.publicKey()))
                    .isEqualTo(other.sharedSecret(one.publicKey()));
        }
    }

    @Test
    void weakPublicKeyIsRefused() {
        EphemeralKey key = EphemeralKey.generate();

        assertThatThrownBy(() -> key.sharedSecret(new byte[HandshakeHello.KEY_SIZE]))
                .isInstanceOf(HandshakeException.class)
                .hasMessage("sent a weak public key");
    }
}
