package org.horovod4j.trust;

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
    static TrafficSecrets of(SecretKey mixed, Opening dialler, Opening acceptor) {
        byte[] transcript = hash(Bytes.concat(dialler.bytes(), acceptor.bytes()));
        return new TrafficSecrets(
                Hkdf.expand(mixed, "dialler", transcript, BYTE_SIZE),
                Hkdf.expand(mixed, "acceptor", transcript, BYTE_SIZE));
    }

    /// As the other end sees it.
    TrafficSecrets reversed() {
        return new TrafficSecrets(receiving, sending);
    }

    Line line(SocketChannel channel, int recordSize) {
        return new SealedLine(
                channel,
                Sealer.writing(sending, Sealer.RECORDS_PER_KEY),
                Sealer.reading(receiving, Sealer.RECORDS_PER_KEY),
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
