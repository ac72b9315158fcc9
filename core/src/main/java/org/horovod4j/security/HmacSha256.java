package org.horovod4j.security;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/// HMAC-SHA256, built from the hash as in RFC 2104.
///
/// Every process signs once or twice when it starts. `javax.crypto.Mac` would first read the JDK's
/// policy files and look for cipher providers, which takes 20 ms of CPU time.
final class HmacSha256 {
    private static final int BLOCK = 64;
    private static final byte INNER = 0x36;
    private static final byte OUTER = 0x5c;

    private final byte[] key;

    /// @param key of at most one block of the hash
    HmacSha256(byte[] key) {
        if (key.length > BLOCK) {
            throw new IllegalArgumentException("a key has at most " + BLOCK + " bytes");
        }
        this.key = Arrays.copyOf(key, BLOCK);
    }

    byte[] sign(byte[]... parts) {
        MessageDigest hash = hash();
        hash.update(padded(INNER));
        for (byte[] part : parts) {
            hash.update(part);
        }
        byte[] inner = hash.digest();
        hash.update(padded(OUTER));
        return hash.digest(inner);
    }

    private byte[] padded(byte pad) {
        byte[] block = key.clone();
        for (int i = 0; i < BLOCK; i++) {
            block[i] ^= pad;
        }
        return block;
    }

    private static MessageDigest hash() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform must have SHA-256", e);
        }
    }
}
