package org.horovod4j.frame;

import java.io.IOException;

/// Bytes, or a sequence of messages, that Horovod4J does not send.
public final class MalformedMessageException extends IOException {
    private static final long serialVersionUID = 1L;

    public MalformedMessageException(String message) {
        super(message);
    }
}
