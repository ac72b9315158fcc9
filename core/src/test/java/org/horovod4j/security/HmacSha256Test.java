package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.HexFormat;
import java.util.Random;

import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class HmacSha256Test {
    /// Test case 2 of RFC 4231.
    @Test
    void matchesRfcTestVector() {
        byte[] signature =
                new HmacSha256("Jefe".getBytes(US_ASCII))
                        .sign(
                                "what do ya want ".getBytes(US_ASCII),
                                "for nothing?".getBytes(US_ASCII));
        assertThat(HexFormat.of().formatHex(signature))
                .isEqualTo("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    @ParameterizedTest(name = "a key of {0} bytes, {1} bytes to sign")
    @CsvSource({"1, 0", "32, 67", "63, 64", "64, 1000"})
    void matchesTheJdk(int keySize, int size) throws Exception {
        Random random = new Random(keySize);
        byte[] key = new byte[keySize];
        byte[] bytes = new byte[size];
        random.nextBytes(key);
        random.nextBytes(bytes);
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        assertThat(new HmacSha256(key).sign(bytes)).isEqualTo(mac.doFinal(bytes));
    }

    @Test
    void aKeyLongerThanABlockIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new HmacSha256(new byte[65]));
    }
}
