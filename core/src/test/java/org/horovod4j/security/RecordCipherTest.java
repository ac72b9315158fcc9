package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;
import java.util.Random;

import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/// A record decrypts only at its own place in the stream.
final class RecordCipherTest {
    private static final int RECORDS_PER_KEY = 3;
    private static final int MAX_BYTES = 70_000;

    private final SecretKey secret = new SecretKeySpec(new byte[32], "Generic");
    private final RecordCipher writer = RecordCipher.encryptor(secret, RECORDS_PER_KEY);
    private final RecordCipher reader = RecordCipher.decryptor(secret, RECORDS_PER_KEY);

    @Test
    void recordsDecryptInOrderAcrossKeyChanges() throws Exception {
        Random random = new Random(1);
        for (int i = 0; i < 5 * RECORDS_PER_KEY; i++) {
            byte[] text = new byte[random.nextInt(MAX_BYTES)];
            random.nextBytes(text);

            assertThat(decrypt(encrypt(text))).isEqualTo(text);
        }
    }

    @Test
    void equalPlaintextsEncryptDifferently() {
        assertThat(encrypt(new byte[100])).isNotEqualTo(encrypt(new byte[100]));
    }

    @ParameterizedTest(name = "byte {0}")
    @ValueSource(ints = {0, 3, 4, 60, 103, 104, 119})
    void changedByteIsDetected(int position) {
        byte[] record = encrypt(new byte[100]);
        record[position] ^= 1;

        assertRefused(record, 0);
    }

    @Test
    void repeatedRecordIsDetected() throws Exception {
        byte[] record = encrypt(new byte[10]);
        decrypt(record);

        assertRefused(record, 1);
    }

    @Test
    void missingRecordIsDetected() {
        encrypt(new byte[10]);

        assertRefused(encrypt(new byte[10]), 0);
    }

    @Test
    void theOtherDirectionHasAnotherKey() {
        SecretKey extracted = Secret.random().extractKey(new byte[32]);
        HandshakeHello hello = new HandshakeHello(Protection.ENCRYPTED, new byte[10]);
        TrafficSecrets secrets = TrafficSecrets.of(extracted, hello, hello);

        assertThat(secrets.sending().getEncoded()).isNotEqualTo(secrets.receiving().getEncoded());
    }

    @Test
    void keysDependOnSecretKeyAgreementAndBothHellos() {
        Secret job = Secret.random();
        byte[] agreed = {1, 2, 3};
        HandshakeHello one = new HandshakeHello(Protection.ENCRYPTED, new byte[] {1});
        HandshakeHello other = new HandshakeHello(Protection.ENCRYPTED, new byte[] {2});
        byte[] key = key(job, agreed, one, one);

        assertThat(key).isEqualTo(key(job, agreed.clone(), one, one));
        assertThat(key)
                .isNotEqualTo(key(Secret.random(), agreed, one, one))
                .isNotEqualTo(key(job, new byte[] {1, 2, 4}, one, one))
                .isNotEqualTo(key(job, agreed, other, one))
                .isNotEqualTo(key(job, agreed, one, other));
    }

    private static byte[] key(
            Secret job, byte[] agreed, HandshakeHello initiator, HandshakeHello acceptor) {
        return TrafficSecrets.of(job.extractKey(agreed), initiator, acceptor)
                .sending()
                .getEncoded();
    }

    private byte[] encrypt(byte[] text) {
        byte[] record = new byte[text.length + RecordCipher.OVERHEAD];
        assertThat(writer.encrypt(text, text.length, record)).isEqualTo(record.length);
        return record;
    }

    private byte[] decrypt(byte[] record) throws RecordAuthenticationException {
        byte[] text = new byte[MAX_BYTES];
        reader.decrypt(record, 0, record.length - RecordCipher.OVERHEAD, text);
        return Arrays.copyOf(text, record.length - RecordCipher.OVERHEAD);
    }

    private void assertRefused(byte[] record, int number) {
        assertThatThrownBy(() -> decrypt(record))
                .isInstanceOf(RecordAuthenticationException.class)
                .hasMessageContaining(
                        "record " + number + " of the encrypted connection was changed");
    }
}
