package org.horovod4j.trust;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.trust.RefusedException.Reason;

import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;

/// How two ends of a new connection prove to each other that they hold the job's secret.
///
/// | from     | bytes | what                                                           |
/// |----------|-------|----------------------------------------------------------------|
/// | dialler  | 41    | opening: magic, version, purpose, a random nonce               |
/// | acceptor | 41    | opening, once the dialler's is known to be one                 |
/// | dialler  | 32    | proof: HMAC over role, purpose, dialler's and acceptor's nonce |
/// | acceptor | 32    | proof, once the dialler's is right                             |
///
/// Both nonces are in both proofs, so a recorded conversation proves nothing later; the role is
/// too, so a proof cannot be sent back to its maker. Strangers learn nothing: the acceptor keeps
/// silent until it has seen the magic, and proves nothing to those who have not proved first.
///
/// All reads are of fixed size and the whole takes [#DEADLINE] at most, so a half-open connection
/// costs a thread for seconds and nothing more.
public final class Handshake {
    public static final Duration DEADLINE = Duration.ofSeconds(5);

    private static final byte[] MAGIC = "Hvd4J\r\n".getBytes(US_ASCII);
    private static final byte VERSION = 1;
    private static final int NONCE_SIZE = 32;
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
        RENDEZVOUS(0),
        LINK(1),
        FUNCTION(2);

        private final byte code;

        Purpose(int code) {
            this.code = (byte) code;
        }
    }

    private enum Role {
        DIALLER(0),
        ACCEPTOR(1);

        private final byte code;

        Role(int code) {
            this.code = (byte) code;
        }
    }

    /// Proves itself on a connection that this side opened.
    ///
    /// @throws RefusedException when the other end is not of this job, or says that we are not
    public void dial(Socket socket) throws IOException {
        PromptReader in = new PromptReader(socket, deadline);
        boolean proved = false;
        try {
            byte[] mine = nonce();
            open(socket, mine);
            byte[] theirs = readOpening(in);
            socket.getOutputStream().write(proof(Role.DIALLER, mine, theirs));
            proved = true;
            check(in.read(PROOF_SIZE), proof(Role.ACCEPTOR, mine, theirs));
        } catch (EOFException | SocketException e) {
            throw proved
                    ? new RefusedException(Reason.SECRET, "refused our proof of the job's secret")
                    : gone();
        } catch (SocketTimeoutException e) {
            throw silent();
        }
    }

    /// Proves itself on a connection that the other side opened.
    ///
    /// @throws RefusedException when the other end is not of this job
    public void accept(Socket socket) throws IOException {
        PromptReader in = new PromptReader(socket, deadline);
        try {
            byte[] theirs = readOpening(in);
            byte[] mine = nonce();
            open(socket, mine);
            check(in.read(PROOF_SIZE), proof(Role.DIALLER, theirs, mine));
            socket.getOutputStream().write(proof(Role.ACCEPTOR, theirs, mine));
        } catch (EOFException | SocketException e) {
            throw gone();
        } catch (SocketTimeoutException e) {
            throw silent();
        }
    }

    private byte[] nonce() {
        byte[] nonce = new byte[NONCE_SIZE];
        random.nextBytes(nonce);
        return nonce;
    }

    private void open(Socket socket, byte[] nonce) throws IOException {
        byte[] opening = Arrays.copyOf(MAGIC, MAGIC.length + 2 + NONCE_SIZE);
        opening[MAGIC.length] = VERSION;
        opening[MAGIC.length + 1] = purpose.code;
        System.arraycopy(nonce, 0, opening, MAGIC.length + 2, NONCE_SIZE);
        socket.getOutputStream().write(opening);
    }

    /// The other end's nonce. The magic is read apart, since a shorter greeting of another protocol
    /// would otherwise be waited for until the deadline.
    private byte[] readOpening(PromptReader in) throws IOException {
        byte[] magic = in.read(MAGIC.length);
        if (!Arrays.equals(magic, MAGIC)) {
            throw new RefusedException(
                    Reason.FOREIGN, "does not speak our protocol: it " + impression(magic));
        }
        byte[] kind = in.read(2);
        if (kind[0] != VERSION) {
            throw new RefusedException(
                    Reason.VERSION,
                    "speaks version %d of the protocol, we speak %d: use one Horovod4J on all hosts"
                            .formatted(kind[0], VERSION));
        }
        if (kind[1] != purpose.code) {
            throw new RefusedException(
                    Reason.PURPOSE,
                    "is of Horovod4J but not here for " + purpose + ": a port is mixed up");
        }
        return in.read(NONCE_SIZE);
    }

    private byte[] proof(Role role, byte[] diallerNonce, byte[] acceptorNonce) {
        byte[] context = {VERSION, purpose.code, role.code};
        return secret.sign(context, diallerNonce, acceptorNonce);
    }

    /// Compares in constant time, so that nobody can guess a proof byte by byte.
    private static void check(byte[] found, byte[] expected) throws RefusedException {
        if (!MessageDigest.isEqual(found, expected)) {
            throw new RefusedException(Reason.SECRET, "does not know the job's secret");
        }
    }

    /// What the first bytes look like, without repeating a stranger's text in our log.
    private static String impression(byte[] bytes) {
        String text = new String(bytes, US_ASCII);
        if (bytes[0] == 0x16 && bytes[1] == 0x03) {
            return "sent a TLS hello";
        }
        if (text.startsWith("GET ") || text.startsWith("POST ") || text.startsWith("HEAD ")) {
            return "sent an HTTP request";
        }
        return "began with the bytes " + HexFormat.ofDelimiter(" ").formatHex(bytes);
    }

    private RefusedException silent() {
        return new RefusedException(
                Reason.SILENT, "did not introduce itself within " + deadline.toMillis() + " ms");
    }

    private static RefusedException gone() {
        return new RefusedException(Reason.CLOSED, "closed the connection before proving itself");
    }
}
