package org.horovod4j.launcher;

import java.io.IOException;

/// Hosts that cannot take part in the job, with a line for each; nothing was started.
final class HostsNotReadyException extends IOException {
    private static final long serialVersionUID = 1;

    HostsNotReadyException(String message) {
        super(message);
    }
}
