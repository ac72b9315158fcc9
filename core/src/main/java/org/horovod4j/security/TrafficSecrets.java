package org.horovod4j.security;

import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;

import javax.crypto.SecretKey;

/// What the keys of one connection are made of, a secret for each direction, as one end sees it.
record TrafficSecrets(SecretKey sending, SecretKey receiving) {
    private static final int BYTE_SIZE = 32;

    /// As the dialler sees it.
    ///
    /// @param mixed of the job's secret and what the two ends have agreed on
    static TrafficSecrets of(SecretKey mixed, HandshakeHello dialler, HandshakeHello acceptor) {
        byte[] transcript = hash(ByteArrays.concat(dialler.bytes(), acceptor.bytes()));
        return new TrafficSecrets(
                Hkdf.expand(mixed, "dialler", transcript, BYTE_SIZE),
                Hkdf.expand(mixed, "acceptor", transcript, BYTE_SIZE));
    }

    /// As the other end sees it.
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
