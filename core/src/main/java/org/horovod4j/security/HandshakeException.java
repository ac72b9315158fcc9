package org.horovod4j.security;

import java.io.IOException;

/// The other end of a connection did not prove that it belongs to this job.
///
/// The message continues a sentence that begins with the other end's name: "10.0.0.7 does not …".
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

    /// What was wrong, coarsely enough to be told once for each kind.
    public enum Reason {
        /// It speaks another protocol.
        PROTOCOL,
        /// It is a Horovod4J of an incompatible version.
        VERSION,
        /// It is of Horovod4J, but came to the wrong door.
        PURPOSE,
        /// It encrypts, and we do not, or the other way round.
        PROTECTION,
        /// It holds another secret, or none.
        SECRET,
        /// It did not finish in time.
        TIMED_OUT,
        /// It went away in the middle.
        CLOSED;

        /// Whether asking again cannot help: something must be set up differently.
        public boolean isFinal() {
            return switch (this) {
                case PROTOCOL, VERSION, PURPOSE, PROTECTION, SECRET -> true;
                case TIMED_OUT, CLOSED -> false;
            };
        }
    }
}
