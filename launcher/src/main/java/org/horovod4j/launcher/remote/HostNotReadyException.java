package org.horovod4j.launcher.remote;

/// A host cannot take part in a job. The message continues a sentence about the host.
public final class HostNotReadyException extends Exception {
    private static final long serialVersionUID = 1;

    HostNotReadyException(String reason) {
        super(reason);
    }

    HostNotReadyException(String reason, Throwable cause) {
        super(reason, cause);
    }
}
