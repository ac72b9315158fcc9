package org.horovod4j.security;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.security.GeneralSecurityException;
import java.security.spec.AlgorithmParameterSpec;

import javax.crypto.KDF;
import javax.crypto.SecretKey;
import javax.crypto.spec.HKDFParameterSpec;

/// Derives keys from keys: HKDF with SHA-256 (RFC 5869).
final class Hkdf {
    /// For a secret that is only used to derive others.
    private static final String GENERIC = "Generic";

    private Hkdf() {}

    /// A secret that can be computed only from both `salt` and `material`.
    static SecretKey extract(byte[] salt, byte[] material) {
        return key(
                GENERIC,
                HKDFParameterSpec.ofExtract().addSalt(salt).addIKM(material).extractOnly());
    }

    /// A secret derived for each label and context.
    static SecretKey expand(SecretKey secret, String label, byte[] context, int size) {
        return key(GENERIC, expansion(secret, label, context, size));
    }

    /// The same as a key of a cipher.
    static SecretKey expand(SecretKey secret, String label, int size, String algorithm) {
        return key(algorithm, expansion(secret, label, new byte[0], size));
    }

    /// The same as bytes that need not be kept secret.
    static byte[] expand(SecretKey secret, String label, int size) {
        try {
            return hkdf().deriveData(expansion(secret, label, new byte[0], size));
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    private static AlgorithmParameterSpec expansion(
            SecretKey secret, String label, byte[] context, int size) {
        byte[] info = ByteArrays.concat(("hvd4j " + label).getBytes(US_ASCII), context);
        return HKDFParameterSpec.expandOnly(secret, info, size);
    }

    private static SecretKey key(String algorithm, AlgorithmParameterSpec parameters) {
        try {
            return hkdf().deriveKey(algorithm, parameters);
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    private static KDF hkdf() throws GeneralSecurityException {
        return KDF.getInstance("HKDF-SHA256");
    }

    private static IllegalStateException missing(GeneralSecurityException e) {
        return new IllegalStateException("this Java platform lacks HKDF with SHA-256", e);
    }
}
