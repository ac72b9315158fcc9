package org.horovod4j.launcher.driver;

/// The hosts of a job could not be found out, with one sentence that says why.
public final class DiscoveryException extends Exception {
    private static final long serialVersionUID = 1;

    public DiscoveryException(String message) {
        super(message);
    }

    public DiscoveryException(String message, Throwable cause) {
        super(message, cause);
    }
}
