package org.horovod4j.trust;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;
import java.util.Random;

import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/// That a record is opened only where and when it was meant to be.
final class SealerTest {
    private static final int RECORDS_PER_KEY = 3;
    private static final int MOST = 70_000;

    private final SecretKey secret = new SecretKeySpec(new byte[32], "Generic");
    private final Sealer writer = Sealer.writing(secret, RECORDS_PER_KEY);
    private final Sealer reader = Sealer.reading(secret, RECORDS_PER_KEY);

    @Test
    void everyRecordIsOpenedInTurnAcrossChangesOfTheKey() throws Exception {
        Random random = new Random(1);
        for (int i = 0; i < 5 * RECORDS_PER_KEY; i++) {
            byte[] text = new byte[random.nextInt(MOST)];
            random.nextBytes(text);

            assertThat(open(seal(text))).isEqualTo(text);
        }
    }

    @Test
    void equalTextsLookDifferentEachTime() {
        assertThat(seal(new byte[100])).isNotEqualTo(seal(new byte[100]));
    }

    @ParameterizedTest(name = "byte {0}")
    @ValueSource(ints = {0, 3, 4, 60, 103, 104, 119})
    void aChangedByteIsNoticed(int position) {
        byte[] record = seal(new byte[100]);
        record[position] ^= 1;

        assertRefused(record, 0);
    }

    @Test
    void aRepeatedRecordIsNoticed() throws Exception {
        byte[] record = seal(new byte[10]);
        open(record);

        assertRefused(record, 1);
    }

    @Test
    void aRecordThatIsLeftOutIsNoticed() {
        seal(new byte[10]);

        assertRefused(seal(new byte[10]), 0);
    }

    @Test
    void theOtherDirectionHasAnotherKey() {
        SecretKey mixed = Secret.random().mix(new byte[32]);
        Opening opening = new Opening(Protection.ENCRYPTED, new byte[10]);
        TrafficSecrets secrets = TrafficSecrets.of(mixed, opening, opening);

        assertThat(secrets.sending().getEncoded()).isNotEqualTo(secrets.receiving().getEncoded());
    }

    @Test
    void keysDependOnTheJobsSecretOnTheAgreementAndOnBothOpenings() {
        Secret job = Secret.random();
        byte[] agreed = {1, 2, 3};
        Opening one = new Opening(Protection.ENCRYPTED, new byte[] {1});
        Opening other = new Opening(Protection.ENCRYPTED, new byte[] {2});
        byte[] key = key(job, agreed, one, one);

        assertThat(key).isEqualTo(key(job, agreed.clone(), one, one));
        assertThat(key)
                .isNotEqualTo(key(Secret.random(), agreed, one, one))
                .isNotEqualTo(key(job, new byte[] {1, 2, 4}, one, one))
                .isNotEqualTo(key(job, agreed, other, one))
                .isNotEqualTo(key(job, agreed, one, other));
    }

    private static byte[] key(Secret job, byte[] agreed, Opening dialler, Opening acceptor) {
        return TrafficSecrets.of(job.mix(agreed), dialler, acceptor).sending().getEncoded();
    }

    private byte[] seal(byte[] text) {
        byte[] record = new byte[text.length + Sealer.OVERHEAD];
        assertThat(writer.seal(text, text.length, record)).isEqualTo(record.length);
        return record;
    }

    private byte[] open(byte[] record) throws BrokenSealException {
        byte[] text = new byte[MOST];
        reader.open(record, 0, record.length - Sealer.OVERHEAD, text);
        return Arrays.copyOf(text, record.length - Sealer.OVERHEAD);
    }

    private void assertRefused(byte[] record, int number) {
        assertThatThrownBy(() -> open(record))
                .isInstanceOf(BrokenSealException.class)
                .hasMessageContaining(
                        "record " + number + " of the encrypted connection was changed");
    }
}
