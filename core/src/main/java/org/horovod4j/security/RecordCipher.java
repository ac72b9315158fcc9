package org.horovod4j.security;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;

import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;

/// One direction of a connection as records of AES-256-GCM, at either end.
///
/// | bytes  | what                                                            |
/// |--------|-----------------------------------------------------------------|
/// | 4      | length of the plaintext, 0 for the last record; authenticated   |
/// | length | the plaintext, encrypted                                        |
/// | 16     | tag                                                             |
///
/// A record's nonce is its number. Both ends count, so it is not sent. A record that was changed,
/// omitted, repeated or moved fails its check. After [#RECORDS_PER_KEY] records both ends switch to
/// the next key and discard the last, long before GCM's limit.
///
/// Works on arrays: the JVM's AES instructions do, at about three times the speed that
/// `javax.crypto` has with buffers outside the heap.
final class RecordCipher {
    static final int HEADER = Integer.BYTES;
    static final int TAG = 16;

    /// Bytes of a record beside the plaintext.
    static final int OVERHEAD = HEADER + TAG;

    /// With records of 64 KiB this is 2^32 blocks. TLS 1.3 allows 2^34.5 for a GCM key.
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

    /// Encrypts the first `length` bytes of `text` into a record.
    ///
    /// @return its size
    int encrypt(byte[] text, int length, byte[] record) {
        try {
            ByteBuffer.wrap(record).putInt(length);
            initCipher(record, 0);
            return HEADER + cipher.doFinal(text, 0, length, record, HEADER);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("encrypting a record of " + length + " bytes", e);
        }
    }

    /// Decrypts the record at `offset`, whose header says `length`.
    ///
    /// @throws RecordAuthenticationException when it is not the record that the peer wrote next
    void decrypt(byte[] records, int offset, int length, byte[] text)
            throws RecordAuthenticationException {
        try {
            initCipher(records, offset);
            cipher.doFinal(records, offset + HEADER, length + TAG, text, 0);
        } catch (AEADBadTagException e) {
            throw new RecordAuthenticationException(count - 1, e);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("decrypting a record of " + length + " bytes", e);
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

    /// XORs the record's number into the nonce, as TLS 1.3 does. Nonces then differ between jobs
    /// too, so an attack on many keys at once gains nothing.
    private void updateNonce(long number) {
        for (int i = 0; i < IV_SIZE; i++) {
            int shift = Byte.SIZE * (IV_SIZE - 1 - i);
            nonce[i] = (byte) (shift < Long.SIZE ? iv[i] ^ (number >>> shift) : iv[i]);
        }
    }
}
