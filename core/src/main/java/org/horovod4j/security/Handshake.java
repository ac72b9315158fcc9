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

/// How two ends of a new connection prove to each other that they hold the job's secret, and how
/// they come by the keys of an encrypted one.
///
/// | from     | what                                                               |
/// |----------|--------------------------------------------------------------------|
/// | dialler  | its [HandshakeHello]                                                      |
/// | acceptor | its opening, once the dialler's is known to be one                 |
/// | dialler  | proof: HMAC over role, dialler's opening and acceptor's            |
/// | acceptor | proof, once the dialler's is right                                 |
///
/// Both openings are in both proofs, nonces and public keys included, so a recorded conversation
/// proves nothing later and nobody between the two can put in a key of his own; the role is too, so
/// a proof cannot be sent back to its maker. Strangers learn nothing: the acceptor keeps silent
/// until it has seen the magic, and proves nothing to those who have not proved first.
///
/// All reads are of fixed size and the whole takes [#DEADLINE] at most, so a half-open connection
/// costs a thread for seconds and nothing more.
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

    /// What a connection is for; part of the proof, so that none can be led to another door.
    public enum Purpose {
        /// Short messages, over as many connections as there are ranks: small buffers.
        RENDEZVOUS(0, 8 << 10),
        /// Tensors, for which 64 KiB were within a tenth of the speed of larger records.
        LINK(1, 64 << 10),
        /// A function of a program and what it returned.
        FUNCTION(2, 8 << 10),
        /// The places of an elastic job's workers.
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

        /// The most bytes of text in a record, where they are encrypted.
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

    /// Proves itself on a connection that this side opened, which must block.
    ///
    /// @throws RefusedException when the other end is not of this job, or says that we are not
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

    /// Proves itself on a connection that the other side opened, which must block.
    ///
    /// @throws RefusedException when the other end is not of this job
    public SecureConnection accept(SocketChannel channel) throws IOException {
        Socket socket = channel.socket();
        try {
            DeadlineReader in = new DeadlineReader(socket, deadline);
            HandshakeHello theirs = HandshakeHello.read(in, purpose);
            EphemeralKey key = key();
            HandshakeHello mine = hello(key);
            socket.getOutputStream().write(mine.bytes());
            checkProtection(theirs); // after the opening, by which the dialler learns of it too
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

    private byte[] proof(Role role, HandshakeHello dialler, HandshakeHello acceptor) {
        return secret.sign(new byte[] {role.code}, dialler.bytes(), acceptor.bytes());
    }

    /// Compares in constant time, so that nobody can guess a proof byte by byte.
    private static void check(byte[] found, byte[] expected) throws HandshakeException {
        if (!MessageDigest.isEqual(found, expected)) {
            throw new HandshakeException(Reason.SECRET, "does not know the job's secret");
        }
    }

    private SecureConnection connection(
            SocketChannel channel,
            Role role,
            @Nullable EphemeralKey key,
            HandshakeHello dialler,
            HandshakeHello acceptor)
            throws HandshakeException {
        if (key == null) {
            return new PlaintextConnection(channel);
        }
        HandshakeHello theirs = role == Role.INITIATOR ? acceptor : dialler;
        SecretKey mixed = secret.extractKey(key.sharedSecret(theirs.publicKey()));
        TrafficSecrets secrets = TrafficSecrets.of(mixed, dialler, acceptor);
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
