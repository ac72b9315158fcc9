package org.horovod4j.security;

import org.horovod4j.option.Options;
import org.horovod4j.security.HandshakeException.Reason;

/// What the connections of a job are protected by, once both ends have proved who they are.
///
/// Neither end gives way: an offer of less would be the first thing that an attacker sends.
public enum Protection {
    /// Nothing further: whoever sits between the hosts can read and change what is sent.
    AUTHENTICATED(0, "does not encrypt, while %s is on here"),
    /// All that is sent is encrypted and checked, with keys of this connection alone.
    ENCRYPTED(1, "encrypts, while %s is off here");

    private final byte code;
    private final String mismatchMessage;

    Protection(int code, String mismatchMessage) {
        this.code = (byte) code;
        this.mismatchMessage = mismatchMessage;
    }

    /// What the option [Options#TLS] asks for.
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

    /// What to tell, on either side, of another end that has this protection where we do not.
    HandshakeException mismatch() {
        return new HandshakeException(
                Reason.PROTECTION,
                (mismatchMessage + ": give the launcher and every rank the same")
                        .formatted(Options.TLS));
    }
}
