package org.horovod4j.transport.tcp;

import java.io.IOException;

/// What the called rank thinks of a [LinkHello].
enum LinkHelloStatus {
    ACCEPTED(0, "is accepted"),
    WRONG_RANK(1, "another rank of the job answered there"),
    WRONG_WORLD(2, "the rank has gone on to another world"),
    STALE_EPOCH(3, "the rank has reset its links since"),
    CLOSED(4, "the rank has closed this channel"),
    TOO_MANY_PENDING(
            5, "too many connections are pending for channels that the rank has not opened");

    private final byte code;
    private final String text;

    LinkHelloStatus(int code, String text) {
        this.code = (byte) code;
        this.text = text;
    }

    byte code() {
        return code;
    }

    /// @throws IOException when there is no such verdict
    static LinkHelloStatus of(byte code) throws IOException {
        for (LinkHelloStatus each : values()) {
            if (each.code == code) {
                return each;
            }
        }
        throw new IOException("answered a hello with " + code);
    }

    /// That a call got this verdict rather than [#ACCEPTED].
    static final class RejectedException extends IOException {
        private static final long serialVersionUID = 1L;

        private final LinkHelloStatus status;

        RejectedException(LinkHelloStatus linkHelloStatus) {
            super(linkHelloStatus.text);
            this.status = linkHelloStatus;
        }

        LinkHelloStatus status() {
            return status;
        }
    }
}
