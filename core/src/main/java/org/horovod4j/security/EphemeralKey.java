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

/// A key pair of X25519 that lives for one handshake: whoever learns the job's secret later still
/// cannot read what was recorded before.
///
/// Some 0.2 ms to make and again to agree, once the JVM has compiled it.
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

    /// The public half as RFC 7748 writes it: a number, least byte first.
    byte[] publicKey() {
        BigInteger u = ((XECPublicKey) pair.getPublic()).getU();
        byte[] number = reversed(u.toByteArray()); // may have a sign byte too many, or be short
        return Arrays.copyOf(number, HandshakeHello.KEY_SIZE);
    }

    /// What both ends, and nobody between them, can work out.
    ///
    /// @throws RefusedException when the other end's key is one of the few that give a secret away
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
            throw new HandshakeException(Reason.SECRET, "sent a public key that protects nothing");
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
