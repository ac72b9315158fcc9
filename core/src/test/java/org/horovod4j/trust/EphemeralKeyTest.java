package org.horovod4j.trust;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

final class EphemeralKeyTest {
    /// Often enough to meet keys whose number is a byte shorter or longer than most.
    private static final int PAIRS = 400;

    @Test
    void bothEndsComeToTheSame() throws Exception {
        EphemeralKey one = EphemeralKey.generate();
        for (int i = 0; i < PAIRS; i++) {
            EphemeralKey other = EphemeralKey.generate();

            assertThat(other.publicKey()).hasSize(Opening.KEY_SIZE);
            assertThat(one.agree(other.publicKey())).isEqualTo(other.agree(one.publicKey()));
        }
    }

    @Test
    void aKeyThatWouldGiveTheSecretAwayIsRefused() {
        EphemeralKey key = EphemeralKey.generate();

        assertThatThrownBy(() -> key.agree(new byte[Opening.KEY_SIZE]))
                .isInstanceOf(RefusedException.class)
                .hasMessage("sent a public key that protects nothing");
    }
}
