package org.horovod4j.security;

import org.horovod4j.security.HandshakeException.Reason;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.interfaces.XECPublicKey;
import java.security.spec.NamedParameterSpec;
import java.security.spec.XECPublicKeySpec;
import java.util.Arrays;

import javax.crypto.KeyAgreement;

/// An X25519 key pair for one handshake. With it, an attacker who learns the job's secret later
/// still cannot decrypt recorded connections.
///
/// Generating takes about 0.2 ms, and so does the agreement, once the JVM has compiled them.
final class EphemeralKey {
    private static final String ALGORITHM = "X25519";

    private final KeyPair pair;

    private EphemeralKey(KeyPair pair) {
        this.pair = pair;
    }

    static EphemeralKey generate() {
        try {
            return new EphemeralKey(KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair());
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    /// The public key as in RFC 7748: a number, least significant byte first.
    byte[] publicKey() {
        BigInteger u = ((XECPublicKey) pair.getPublic()).getU();
        byte[] number = reversed(u.toByteArray()); // may have an extra sign byte, or be short
        return Arrays.copyOf(number, HandshakeHello.KEY_SIZE);
    }

    /// The secret that both ends compute and an eavesdropper cannot.
    ///
    /// @throws HandshakeException when the peer's key is one of the few that make the secret
    ///     predictable
    byte[] sharedSecret(byte[] theirs) throws HandshakeException {
        try {
            KeyAgreement agreement = KeyAgreement.getInstance(ALGORITHM);
            agreement.init(pair.getPrivate());
            XECPublicKeySpec spec =
                    new XECPublicKeySpec(
                            NamedParameterSpec.X25519, new BigInteger(1, reversed(theirs)));
            agreement.doPhase(KeyFactory.getInstance(ALGORITHM).generatePublic(spec), true);
            return agreement.generateSecret();
        } catch (InvalidKeyException e) {
            throw new HandshakeException(Reason.SECRET, "sent a weak public key");
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    private static byte[] reversed(byte[] bytes) {
        byte[] reversed = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            reversed[i] = bytes[bytes.length - 1 - i];
        }
        return reversed;
    }

    private static IllegalStateException missing(GeneralSecurityException e) {
        return new IllegalStateException("this Java platform lacks " + ALGORITHM, e);
    }
}
