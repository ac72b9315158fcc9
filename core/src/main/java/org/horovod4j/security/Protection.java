package org.horovod4j.security;

import org.horovod4j.option.Options;
import org.horovod4j.security.HandshakeException.Reason;

/// How the connections of a job are protected after the handshake.
///
/// Both ends must use the same. If one could lower it, an attacker would.
public enum Protection {
    /// No further protection: an attacker on the network can read and change what is sent.
    AUTHENTICATED(0, "does not encrypt, while %s is on here"),
    /// Everything is encrypted and authenticated, with keys of this connection alone.
    ENCRYPTED(1, "encrypts, while %s is off here");

    private final byte code;
    private final String mismatchMessage;

    Protection(int code, String mismatchMessage) {
        this.code = (byte) code;
        this.mismatchMessage = mismatchMessage;
    }

    /// The protection that the option [Options#TLS] selects.
    public static Protection of(boolean tls) {
        return tls ? ENCRYPTED : AUTHENTICATED;
    }

    byte code() {
        return code;
    }

    static Protection decode(byte code) throws HandshakeException {
        for (Protection each : values()) {
            if (each.code == code) {
                return each;
            }
        }
        throw new HandshakeException(Reason.VERSION, "asks for protection %d".formatted(code));
    }

    /// The exception for a peer that has this protection where this process has the other.
    HandshakeException mismatch() {
        return new HandshakeException(
                Reason.PROTECTION,
                (mismatchMessage + ": give the launcher and every rank the same")
                        .formatted(Options.TLS));
    }
}
