package org.horovod4j.transport.tcp;

import java.io.IOException;

/// What the called rank thinks of a [Hello].
enum Verdict {
    WELCOME(0, "is welcome"),
    WRONG_RANK(1, "another rank of the job answered there"),
    WRONG_WORLD(2, "the rank has gone on to another world"),
    STALE(3, "the rank has reset its links since"),
    CLOSED(4, "the rank has closed this channel"),
    CROWDED(5, "too many calls wait there for channels that the rank has not opened");

    private final byte code;
    private final String text;

    Verdict(int code, String text) {
        this.code = (byte) code;
        this.text = text;
    }

    byte code() {
        return code;
    }

    /// @throws IOException when there is no such verdict
    static Verdict of(byte code) throws IOException {
        for (Verdict each : values()) {
            if (each.code == code) {
                return each;
            }
        }
        throw new IOException("answered a hello with " + code);
    }

    /// That a call got this verdict rather than [#WELCOME].
    static final class Unwelcome extends IOException {
        private static final long serialVersionUID = 1L;

        private final Verdict verdict;

        Unwelcome(Verdict verdict) {
            super(verdict.text);
            this.verdict = verdict;
        }

        Verdict verdict() {
            return verdict;
        }
    }
}
