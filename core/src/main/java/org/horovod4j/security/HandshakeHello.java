package org.horovod4j.security;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.HandshakeException.Reason;

import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;

/// The first message of each end of a connection.
///
/// | bytes | what                                                      |
/// |-------|-----------------------------------------------------------|
/// | 7     | magic                                                     |
/// | 1     | version of the protocol                                   |
/// | 1     | [Purpose]                                                 |
/// | 1     | [Protection]                                              |
/// | 32    | a random nonce                                            |
/// | 32    | if encrypted, the public key of an [EphemeralKey]         |
///
/// Proofs and keys depend on all of it.
final class HandshakeHello {
    static final int KEY_SIZE = 32;

    private static final byte[] MAGIC = "Hvd4J\r\n".getBytes(US_ASCII);
    private static final byte VERSION = 3;

    /// Magic, version, purpose and protection.
    private static final int HEADER_SIZE = MAGIC.length + 3;

    private static final int NONCE_SIZE = 32;

    private final Protection protection;
    private final byte[] bytes;

    HandshakeHello(Protection protection, byte[] bytes) {
        this.protection = protection;
        this.bytes = bytes;
    }

    static HandshakeHello of(
            Purpose purpose, Protection protection, byte[] nonce, byte[] publicKey) {
        byte[] kind = {VERSION, purpose.code(), protection.code()};
        return new HandshakeHello(protection, ByteArrays.concat(MAGIC, kind, nonce, publicKey));
    }

    /// A hello of which [#missingBytes] says that it is complete.
    static HandshakeHello of(byte[] complete) throws HandshakeException {
        return new HandshakeHello(Protection.decode(complete[HEADER_SIZE - 1]), complete);
    }

    /// Reads the peer's hello, with any protection.
    ///
    /// @throws HandshakeException when it is not a hello, or for another purpose
    static HandshakeHello read(DeadlineReader in, Purpose purpose) throws IOException {
        byte[] received = {};
        int missing;
        while ((missing = missingBytes(received, purpose)) > 0) {
            received = ByteArrays.concat(received, in.read(missing));
        }
        return of(received);
    }

    /// How many bytes to read next; 0 when the hello is complete. The magic comes first: a shorter
    /// greeting of another protocol would otherwise be waited for until the deadline.
    ///
    /// @param received the first bytes of the peer
    /// @throws HandshakeException when it is not a hello, or for another purpose
    static int missingBytes(byte[] received, Purpose purpose) throws HandshakeException {
        if (received.length < MAGIC.length) {
            return MAGIC.length - received.length;
        }
        byte[] magic = Arrays.copyOf(received, MAGIC.length);
        if (!Arrays.equals(magic, MAGIC)) {
            throw new HandshakeException(
                    Reason.PROTOCOL, "does not speak our protocol: it " + describe(magic));
        }
        if (received.length < HEADER_SIZE) {
            return HEADER_SIZE - received.length;
        }
        Protection protection = checkKind(received, purpose);
        return HEADER_SIZE + NONCE_SIZE + keySize(protection) - received.length;
    }

    private static Protection checkKind(byte[] header, Purpose purpose) throws HandshakeException {
        byte version = header[MAGIC.length];
        if (version != VERSION) {
            throw new HandshakeException(
                    Reason.VERSION,
                    "uses version %d of the protocol, this process %d: use one Horovod4J on all hosts"
                            .formatted(version, VERSION));
        }
        if (header[MAGIC.length + 1] != purpose.code()) {
            throw new HandshakeException(
                    Reason.PURPOSE,
                    "is a Horovod4J process, but not for "
                            + purpose
                            + ": a wrong port is configured");
        }
        return Protection.decode(header[HEADER_SIZE - 1]);
    }

    static int nonceSize() {
        return NONCE_SIZE;
    }

    Protection protection() {
        return protection;
    }

    /// The bytes as sent.
    byte[] bytes() {
        return bytes;
    }

    byte[] publicKey() {
        return Arrays.copyOfRange(bytes, bytes.length - keySize(protection), bytes.length);
    }

    private static int keySize(Protection protection) {
        return switch (protection) {
            case AUTHENTICATED -> 0;
            case ENCRYPTED -> KEY_SIZE;
        };
    }

    /// Describes the first bytes without copying a stranger's text into the log.
    private static String describe(byte[] bytes) {
        String text = new String(bytes, US_ASCII);
        if (bytes[0] == 0x16 && bytes[1] == 0x03) {
            return "sent a TLS hello";
        }
        if (text.startsWith("GET ") || text.startsWith("POST ") || text.startsWith("HEAD ")) {
            return "sent an HTTP request";
        }
        return "began with the bytes " + HexFormat.ofDelimiter(" ").formatHex(bytes);
    }
}
