package org.horovod4j.launcher.remote;

/// A host that cannot take part in a job; the message continues a sentence about it.
public final class HostNotReadyException extends Exception {
    private static final long serialVersionUID = 1;

    HostNotReadyException(String reason) {
        super(reason);
    }

    HostNotReadyException(String reason, Throwable cause) {
        super(reason, cause);
    }
}
