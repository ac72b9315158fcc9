package org.horovod4j;

import org.jspecify.annotations.Nullable;

/// The configuration of the job is wrong: fix an option, an address or the secret.
public final class ConfigurationException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public ConfigurationException(String message) {
        super(message);
    }

    public ConfigurationException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
