package org.horovod4j.security;

import org.horovod4j.security.HandshakeException.Reason;
import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;

import javax.crypto.SecretKey;

/// Both ends of a new connection prove to each other that they know the job's secret, and derive
/// the keys of an encrypted connection.
///
/// | from      | what                                                     |
/// |-----------|----------------------------------------------------------|
/// | initiator | its [HandshakeHello]                                     |
/// | acceptor  | its hello, once it has checked the initiator's           |
/// | initiator | proof: HMAC over role, initiator's hello, acceptor's hello |
/// | acceptor  | proof, once it has checked the initiator's               |
///
/// Both proofs cover both hellos, with nonces and public keys. So a recorded handshake proves
/// nothing later, and an attacker in between cannot insert another key. The proofs cover the role
/// too, so a proof cannot be sent back to its author. Strangers learn nothing: the acceptor sends
/// nothing until it has seen the magic, and sends its proof only after it has checked the
/// initiator's.
///
/// All reads have a fixed size, and the whole handshake takes [#DEADLINE] at most. So a half-open
/// connection occupies one thread for a few seconds.
public final class Handshake {
    public static final Duration DEADLINE = Duration.ofSeconds(5);

    private static final int PROOF_SIZE = 32;

    private final Secret secret;
    private final Purpose purpose;
    private final Duration deadline;
    private final SecureRandom random = new SecureRandom();

    public Handshake(Secret secret, Purpose purpose) {
        this(secret, purpose, DEADLINE);
    }

    public Handshake(Secret secret, Purpose purpose, Duration deadline) {
        this.secret = secret;
        this.purpose = purpose;
        this.deadline = deadline;
    }

    /// What a connection is for. Part of the proof, so a connection cannot be redirected to another
    /// server of the job.
    public enum Purpose {
        /// Short messages, over one connection for each rank: small buffers.
        RENDEZVOUS(0, 8 << 10),
        /// Tensors. Larger records were at most a tenth faster.
        LINK(1, 64 << 10),
        /// A function of a program, and its results.
        FUNCTION(2, 8 << 10),
        /// The ranks of an elastic job's workers.
        REGISTRY(3, 8 << 10);

        private final byte code;
        private final int recordSize;

        Purpose(int code, int recordSize) {
            this.code = (byte) code;
            this.recordSize = recordSize;
        }

        byte code() {
            return code;
        }

        /// The most bytes of plaintext in a record, if the connection is encrypted.
        int recordSize() {
            return recordSize;
        }
    }

    private enum Role {
        INITIATOR(0),
        ACCEPTOR(1);

        private final byte code;

        Role(int code) {
            this.code = (byte) code;
        }
    }

    /// Authenticates a connection that this side opened. The channel must be blocking.
    ///
    /// @throws HandshakeException when the peer does not belong to this job, or says that we do not
    public SecureConnection initiate(SocketChannel channel) throws IOException {
        Socket socket = channel.socket();
        boolean proved = false;
        try {
            DeadlineReader in = new DeadlineReader(socket, deadline);
            EphemeralKey key = key();
            HandshakeHello mine = hello(key);
            socket.getOutputStream().write(mine.bytes());
            HandshakeHello theirs = HandshakeHello.read(in, purpose);
            checkProtection(theirs);
            socket.getOutputStream().write(proof(Role.INITIATOR, mine, theirs));
            proved = true;
            check(in.read(PROOF_SIZE), proof(Role.ACCEPTOR, mine, theirs));
            return connection(channel, Role.INITIATOR, key, mine, theirs);
        } catch (EOFException | SocketException e) {
            throw proved
                    ? new HandshakeException(Reason.SECRET, "refused our proof of the job's secret")
                    : closedEarly();
        } catch (SocketTimeoutException e) {
            throw timedOut();
        }
    }

    /// Authenticates a connection that the other side opened. The channel must be blocking.
    ///
    /// @throws HandshakeException when the peer does not belong to this job
    public SecureConnection accept(SocketChannel channel) throws IOException {
        Socket socket = channel.socket();
        try {
            DeadlineReader in = new DeadlineReader(socket, deadline);
            HandshakeHello theirs = HandshakeHello.read(in, purpose);
            EphemeralKey key = key();
            HandshakeHello mine = hello(key);
            socket.getOutputStream().write(mine.bytes());
            checkProtection(theirs); // after our hello, so that the initiator sees the mismatch too
            check(in.read(PROOF_SIZE), proof(Role.INITIATOR, theirs, mine));
            socket.getOutputStream().write(proof(Role.ACCEPTOR, theirs, mine));
            return connection(channel, Role.ACCEPTOR, key, theirs, mine);
        } catch (EOFException | SocketException e) {
            throw closedEarly();
        } catch (SocketTimeoutException e) {
            throw timedOut();
        }
    }

    private @Nullable EphemeralKey key() {
        return switch (secret.protection()) {
            case AUTHENTICATED -> null;
            case ENCRYPTED -> EphemeralKey.generate();
        };
    }

    private HandshakeHello hello(@Nullable EphemeralKey key) {
        byte[] nonce = new byte[HandshakeHello.nonceSize()];
        random.nextBytes(nonce);
        byte[] publicKey = key == null ? new byte[0] : key.publicKey();
        return HandshakeHello.of(purpose, secret.protection(), nonce, publicKey);
    }

    private void checkProtection(HandshakeHello theirs) throws HandshakeException {
        if (theirs.protection() != secret.protection()) {
            throw theirs.protection().mismatch();
        }
    }

    private byte[] proof(Role role, HandshakeHello initiator, HandshakeHello acceptor) {
        return secret.sign(new byte[] {role.code}, initiator.bytes(), acceptor.bytes());
    }

    /// Compares in constant time, so that an attacker cannot guess a proof byte by byte.
    private static void check(byte[] found, byte[] expected) throws HandshakeException {
        if (!MessageDigest.isEqual(found, expected)) {
            throw new HandshakeException(Reason.SECRET, "does not know the job's secret");
        }
    }

    private SecureConnection connection(
            SocketChannel channel,
            Role role,
            @Nullable EphemeralKey key,
            HandshakeHello initiator,
            HandshakeHello acceptor)
            throws HandshakeException {
        if (key == null) {
            return new PlaintextConnection(channel);
        }
        HandshakeHello theirs = role == Role.INITIATOR ? acceptor : initiator;
        SecretKey extracted = secret.extractKey(key.sharedSecret(theirs.publicKey()));
        TrafficSecrets secrets = TrafficSecrets.of(extracted, initiator, acceptor);
        TrafficSecrets ours = role == Role.INITIATOR ? secrets : secrets.reversed();
        return ours.connection(channel, purpose.recordSize());
    }

    private HandshakeException timedOut() {
        return new HandshakeException(
                Reason.TIMED_OUT, "did not introduce itself within " + deadline.toMillis() + " ms");
    }

    private static HandshakeException closedEarly() {
        return new HandshakeException(Reason.CLOSED, "closed the connection before proving itself");
    }
}
