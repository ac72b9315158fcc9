package org.horovod4j.transport.tcp;

import java.io.IOException;

/// The answer to a [LinkHello].
enum LinkHelloStatus {
    ACCEPTED(0, "accepted"),
    WRONG_RANK(1, "another rank of the job listens there"),
    WRONG_WORLD(2, "the rank now belongs to another world"),
    STALE_EPOCH(3, "the rank has reset its links in the meantime"),
    CLOSED(4, "the rank has closed this channel"),
    TOO_MANY_PENDING(5, "too many links are pending for channels that the rank has not opened");

    private final byte code;
    private final String text;

    LinkHelloStatus(int code, String text) {
        this.code = (byte) code;
        this.text = text;
    }

    byte code() {
        return code;
    }

    /// @throws IOException if there is no such status
    static LinkHelloStatus of(byte code) throws IOException {
        for (LinkHelloStatus each : values()) {
            if (each.code == code) {
                return each;
            }
        }
        throw new IOException("unknown answer to a link hello: " + code);
    }

    /// A connection was answered with a status other than [#ACCEPTED].
    static final class RejectedException extends IOException {
        private static final long serialVersionUID = 1L;

        private final LinkHelloStatus status;

        RejectedException(LinkHelloStatus status) {
            super(status.text);
            this.status = status;
        }

        LinkHelloStatus status() {
            return status;
        }
    }
}
