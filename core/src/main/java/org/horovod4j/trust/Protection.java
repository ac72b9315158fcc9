package org.horovod4j.trust;

import org.horovod4j.option.Options;
import org.horovod4j.trust.RefusedException.Reason;

/// What the connections of a job are protected by, once both ends have proved who they are.
///
/// Neither end gives way: an offer of less would be the first thing that an attacker sends.
public enum Protection {
    /// Nothing further: whoever sits between the hosts can read and change what is sent.
    AUTHENTICATED(0, "does not encrypt, while %s is on here"),
    /// All that is sent is encrypted and checked, with keys of this connection alone.
    ENCRYPTED(1, "encrypts, while %s is off here");

    private final byte code;
    private final String complaint;

    Protection(int code, String complaint) {
        this.code = (byte) code;
        this.complaint = complaint;
    }

    /// What the option [Options#TLS] asks for.
    public static Protection of(boolean tls) {
        return tls ? ENCRYPTED : AUTHENTICATED;
    }

    byte code() {
        return code;
    }

    static Protection decode(byte code) throws RefusedException {
        for (Protection each : values()) {
            if (each.code == code) {
                return each;
            }
        }
        throw new RefusedException(Reason.VERSION, "asks for protection %d".formatted(code));
    }

    /// What to tell, on either side, of another end that has this protection where we do not.
    RefusedException refused() {
        return new RefusedException(
                Reason.PROTECTION,
                (complaint + ": give the launcher and every rank the same").formatted(Options.TLS));
    }
}
