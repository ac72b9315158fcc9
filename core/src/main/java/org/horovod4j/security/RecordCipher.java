package org.horovod4j.security;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;

import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;

/// One direction of a connection as records of AES-256-GCM, either end of it.
///
/// | bytes  | what                                                  |
/// |--------|-------------------------------------------------------|
/// | 4      | length of the text, 0 for the last record; authentic  |
/// | length | the text, encrypted                                   |
/// | 16     | tag                                                   |
///
/// A record's nonce is its number, which both ends count and nobody sends. So a record that was
/// changed, left out, repeated or moved fails its check. After [#RECORDS_PER_KEY] records both ends
/// go on to the next key, long before GCM has seen too much of one, and forget the last.
///
/// Works on arrays: the JVM's instructions for AES do, at about three times the speed that
/// `javax.crypto` has with buffers outside the heap.
final class RecordCipher {
    static final int HEADER = Integer.BYTES;
    static final int TAG = 16;

    /// What a record has beside its text.
    static final int OVERHEAD = HEADER + TAG;

    /// With records of 64 KiB these are 2^32 blocks, where a GCM key of TLS 1.3 may see 2^34.5.
    static final int RECORDS_PER_KEY = 1 << 20;

    private static final String ALGORITHM = "AES/GCM/NoPadding";
    private static final int KEY_SIZE = 32;
    private static final int IV_SIZE = 12;

    private final Cipher cipher;
    private final int mode;
    private final int recordsPerKey;
    private final byte[] nonce = new byte[IV_SIZE];
    private SecretKey traffic;
    private SecretKey key;
    private byte[] iv;
    private long count;

    private RecordCipher(SecretKey traffic, int mode, int recordsPerKey) {
        try {
            this.cipher = Cipher.getInstance(ALGORITHM);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform must have " + ALGORITHM, e);
        }
        this.mode = mode;
        this.recordsPerKey = recordsPerKey;
        this.traffic = traffic;
        this.key = key();
        this.iv = iv();
    }

    /// The end that writes records.
    static RecordCipher encryptor(SecretKey traffic, int recordsPerKey) {
        return new RecordCipher(traffic, Cipher.ENCRYPT_MODE, recordsPerKey);
    }

    /// The end that reads them.
    static RecordCipher decryptor(SecretKey traffic, int recordsPerKey) {
        return new RecordCipher(traffic, Cipher.DECRYPT_MODE, recordsPerKey);
    }

    /// Makes a record of the first `length` bytes of `text`.
    ///
    /// @return its size
    int encrypt(byte[] text, int length, byte[] record) {
        try {
            ByteBuffer.wrap(record).putInt(length);
            initCipher(record, 0);
            return HEADER + cipher.doFinal(text, 0, length, record, HEADER);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("sealing a record of " + length + " bytes", e);
        }
    }

    /// The text of the record at `offset`, whose header says `length`.
    ///
    /// @throws BrokenSealException when it is not the record that the other end wrote next
    void decrypt(byte[] records, int offset, int length, byte[] text)
            throws RecordAuthenticationException {
        try {
            initCipher(records, offset);
            cipher.doFinal(records, offset + HEADER, length + TAG, text, 0);
        } catch (AEADBadTagException e) {
            throw new RecordAuthenticationException(count - 1, e);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("opening a record of " + length + " bytes", e);
        }
    }

    private void initCipher(byte[] record, int offset) throws GeneralSecurityException {
        if (count > 0 && count % recordsPerKey == 0) {
            traffic = Hkdf.expand(traffic, "next", new byte[0], KEY_SIZE);
            key = key();
            iv = iv();
        }
        updateNonce(count++);
        cipher.init(mode, key, new GCMParameterSpec(Byte.SIZE * TAG, nonce));
        cipher.updateAAD(record, offset, HEADER);
    }

    private SecretKey key() {
        return Hkdf.expand(traffic, "key", KEY_SIZE, "AES");
    }

    private byte[] iv() {
        return Hkdf.expand(traffic, "iv", IV_SIZE);
    }

    /// Mixes the record's number into the nonce, as TLS 1.3 does: nonces then differ between jobs
    /// too, which takes the profit out of guessing keys for many at a time.
    private void updateNonce(long number) {
        for (int i = 0; i < IV_SIZE; i++) {
            int shift = Byte.SIZE * (IV_SIZE - 1 - i);
            nonce[i] = (byte) (shift < Long.SIZE ? iv[i] ^ (number >>> shift) : iv[i]);
        }
    }
}
