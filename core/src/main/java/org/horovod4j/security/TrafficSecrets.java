package org.horovod4j.security;

import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;

import javax.crypto.SecretKey;

/// The secrets from which the keys of one connection are derived: one for each direction, as one
/// end sees them.
record TrafficSecrets(SecretKey sending, SecretKey receiving) {
    private static final int BYTE_SIZE = 32;

    /// As the initiator sees them.
    ///
    /// @param extracted from the job's secret and the shared secret of the handshake
    static TrafficSecrets of(
            SecretKey extracted, HandshakeHello initiator, HandshakeHello acceptor) {
        byte[] transcript = hash(ByteArrays.concat(initiator.bytes(), acceptor.bytes()));
        return new TrafficSecrets(
                Hkdf.expand(extracted, "initiator", transcript, BYTE_SIZE),
                Hkdf.expand(extracted, "acceptor", transcript, BYTE_SIZE));
    }

    /// As the other end sees them.
    TrafficSecrets reversed() {
        return new TrafficSecrets(receiving, sending);
    }

    SecureConnection connection(SocketChannel channel, int recordSize) {
        return new EncryptedConnection(
                channel,
                RecordCipher.encryptor(sending, RecordCipher.RECORDS_PER_KEY),
                RecordCipher.decryptor(receiving, RecordCipher.RECORDS_PER_KEY),
                recordSize);
    }

    private static byte[] hash(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform must have SHA-256", e);
        }
    }
}
