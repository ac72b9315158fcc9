package org.horovod4j.security;

import org.horovod4j.security.HandshakeException.Reason;
import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;

import javax.crypto.SecretKey;

/// Both ends of a new connection prove to each other that they know the job's secret, and derive
/// the keys of an encrypted connection.
///
/// | from      | what                                                     |
/// |-----------|----------------------------------------------------------|
/// | initiator | its [HandshakeHello]                                     |
/// | acceptor  | its hello, once it has checked the initiator's           |
/// | initiator | proof: HMAC over role, initiator's hello, acceptor's hello |
/// | acceptor  | proof, once it has checked the initiator's; zeros refuse |
///
/// Both proofs cover both hellos, with nonces and public keys. So a recorded handshake proves
/// nothing later, and an attacker in between cannot insert another key. The proofs cover the role
/// too, so a proof cannot be sent back to its author. Strangers learn nothing: the acceptor sends
/// nothing until it has seen the magic, and sends its proof only after it has checked the
/// initiator's.
///
/// The refusal distinguishes a wrong secret from a connection that was dropped, which the initiator
/// tries again.
///
/// All reads have a fixed size, and the acceptor waits [#DEADLINE] at most. A [PendingHandshake] is
/// the state of its end.
public final class Handshake {
    public static final Duration DEADLINE = Duration.ofSeconds(5);

    static final int PROOF_SIZE = 32;

    /// Sent in place of the acceptor's proof.
    private static final byte[] REFUSAL = new byte[PROOF_SIZE];

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
        REGISTRY(3, 8 << 10),
        /// What the driver of a cluster and its tasks tell each other, such as the job's secret.
        TASK(4, 8 << 10);

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
        try {
            DeadlineReader in = new DeadlineReader(socket, deadline);
            EphemeralKey key = key();
            HandshakeHello mine = hello(key);
            socket.getOutputStream().write(mine.bytes());
            HandshakeHello theirs = HandshakeHello.read(in, purpose);
            checkProtection(theirs);
            socket.getOutputStream().write(proof(Role.INITIATOR, mine, theirs));
            byte[] proof = in.read(PROOF_SIZE);
            if (Arrays.equals(proof, REFUSAL)) {
                throw new HandshakeException(
                        Reason.SECRET, "refused our proof of the job's secret");
            }
            check(proof, proof(Role.ACCEPTOR, mine, theirs));
            return connection(channel, Role.INITIATOR, key, mine, theirs);
        } catch (EOFException | SocketException e) {
            throw closedEarly();
        } catch (SocketTimeoutException e) {
            throw timedOut();
        }
    }

    /// What the acceptor knows after the hellos.
    record Answer(HandshakeHello theirs, HandshakeHello mine, @Nullable EphemeralKey key) {}

    /// How long the peer may take.
    Duration deadline() {
        return deadline;
    }

    /// The acceptor's [HandshakeHello#missingBytes].
    int missingHelloBytes(byte[] received) throws HandshakeException {
        return HandshakeHello.missingBytes(received, purpose);
    }

    /// Sends the acceptor's hello. Then checks the protection, so that the initiator sees a mismatch
    /// too.
    Answer answer(SocketChannel channel, HandshakeHello theirs) throws IOException {
        EphemeralKey key = key();
        HandshakeHello mine = hello(key);
        send(channel, mine.bytes());
        checkProtection(theirs);
        return new Answer(theirs, mine, key);
    }

    /// Checks the initiator's proof, and sends the acceptor's.
    SecureConnection finish(SocketChannel channel, Answer answer, byte[] proof) throws IOException {
        try {
            check(proof, proof(Role.INITIATOR, answer.theirs, answer.mine));
        } catch (HandshakeException e) {
            send(channel, REFUSAL);
            throw e;
        }
        send(channel, proof(Role.ACCEPTOR, answer.theirs, answer.mine));
        return connection(channel, Role.ACCEPTOR, answer.key, answer.theirs, answer.mine);
    }

    private static void send(SocketChannel channel, byte[] bytes) throws IOException {
        if (channel.write(ByteBuffer.wrap(bytes)) < bytes.length) {
            throw new IOException("the send buffer of a new connection is full");
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

    HandshakeException timedOut() {
        return new HandshakeException(
                Reason.TIMED_OUT,
                "did not complete the handshake within " + deadline.toMillis() + " ms");
    }

    static HandshakeException closedEarly() {
        return new HandshakeException(
                Reason.CLOSED, "closed the connection before it completed the handshake");
    }
}
