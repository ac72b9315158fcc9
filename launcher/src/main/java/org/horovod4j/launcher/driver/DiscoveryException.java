package org.horovod4j.launcher.driver;

/// The hosts of a job cannot be determined. The message says why in one sentence.
public final class DiscoveryException extends Exception {
    private static final long serialVersionUID = 1;

    public DiscoveryException(String message) {
        super(message);
    }

    public DiscoveryException(String message, Throwable cause) {
        super(message, cause);
    }
}
