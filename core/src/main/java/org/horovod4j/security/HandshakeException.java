package org.horovod4j.security;

import java.io.IOException;

/// The peer did not prove that it belongs to this job.
///
/// The message continues a sentence whose subject is the peer: "10.0.0.7 does not …".
public final class HandshakeException extends IOException {
    private static final long serialVersionUID = 1L;

    private final Reason reason;

    HandshakeException(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }

    /// What was wrong. Refused connections are logged once for each kind.
    public enum Reason {
        /// The peer uses another protocol.
        PROTOCOL,
        /// The peer is an incompatible version of Horovod4J.
        VERSION,
        /// The peer is Horovod4J, but connected to the wrong port.
        PURPOSE,
        /// Only one of the two ends encrypts.
        PROTECTION,
        /// The peer has another secret, or none.
        SECRET,
        /// The peer did not finish in time.
        TIMED_OUT,
        /// The peer closed the connection.
        CLOSED,
        /// The connection was closed for newer ones: too many handshakes were pending.
        EVICTED;

        /// Whether a retry cannot help: the configuration must change.
        public boolean isFinal() {
            return switch (this) {
                case PROTOCOL, VERSION, PURPOSE, PROTECTION, SECRET -> true;
                case TIMED_OUT, CLOSED, EVICTED -> false;
            };
        }
    }
}
