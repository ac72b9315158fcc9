package org.horovod4j.launcher.remote;

import java.io.IOException;

/// Bytes that are no message, or a message that has no place here.
final class MalformedMessageException extends IOException {
    private static final long serialVersionUID = 1;

    MalformedMessageException(String message) {
        super(message);
    }
}
