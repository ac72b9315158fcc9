package org.horovod4j.frame;

import java.io.IOException;

/// Bytes, or an order of messages, that our own code does not produce.
public final class MalformedMessageException extends IOException {
    private static final long serialVersionUID = 1L;

    public MalformedMessageException(String message) {
        super(message);
    }
}
