package org.horovod4j.security;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.security.SecureRandom;
import java.util.Base64;

import javax.crypto.SecretKey;

/// The secret that the processes of one job share: 32 random bytes, made by the launcher.
///
/// It is used to sign, and is never sent or printed. It carries the job's [Protection], which every
/// user of the secret needs too.
public final class Secret {
    private static final int BYTE_SIZE = 32;

    private final byte[] bytes;
    private final Protection protection;

    private Secret(byte[] bytes, Protection protection) {
        this.bytes = bytes;
        this.protection = protection;
    }

    /// A new secret.
    public static Secret random() {
        byte[] bytes = new byte[BYTE_SIZE];
        new SecureRandom().nextBytes(bytes);
        return new Secret(bytes, Protection.AUTHENTICATED);
    }

    /// Another secret, which can be computed only from this one and `context`.
    public Secret derive(byte[] context) {
        return new Secret(sign(context), protection);
    }

    /// The secret that [#encode] wrote.
    ///
    /// @throws ConfigurationException when the text is not one; the message does not repeat the
    ///     text
    public static Secret decode(String text) {
        try {
            byte[] bytes = Base64.getUrlDecoder().decode(text.strip());
            if (bytes.length == BYTE_SIZE) {
                return new Secret(bytes, Protection.AUTHENTICATED);
            }
            throw malformed(bytes.length + " bytes", null);
        } catch (IllegalArgumentException e) {
            throw malformed("text that is not base64url", e);
        }
    }

    /// The secret as text, for an environment variable that only the job can read.
    public String encode() {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /// The same secret with another protection.
    public Secret withProtection(Protection wanted) {
        return new Secret(bytes, wanted);
    }

    Protection protection() {
        return protection;
    }

    /// A key derived from this secret and from what two ends have agreed on. It can be computed
    /// only from both.
    SecretKey extractKey(byte[] agreed) {
        return Hkdf.extract(bytes, agreed);
    }

    /// HMAC-SHA256 over the concatenated parts. Callers keep their sizes fixed.
    byte[] sign(byte[]... parts) {
        return new HmacSha256(bytes).sign(parts);
    }

    @Override
    public String toString() {
        return "Secret[not shown]";
    }

    private static ConfigurationException malformed(String found, @Nullable Throwable cause) {
        return new ConfigurationException(
                """
                reading the job's secret: expected 43 characters of base64url (%d bytes), found %s
                Pass on the value that the launcher made, unchanged."""
                        .formatted(BYTE_SIZE, found),
                cause);
    }
}
