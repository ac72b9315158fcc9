package org.horovod4j.rendezvous;

import java.io.IOException;

/// Bytes, or an order of messages, that our own code does not produce.
final class MalformedMessageException extends IOException {
    private static final long serialVersionUID = 1L;

    MalformedMessageException(String message) {
        super(message);
    }
}
