package org.horovod4j.djl.training;

import java.io.IOException;

/// A file that is not a whole checkpoint: an older one may do.
final class DamagedFileException extends IOException {
    private static final long serialVersionUID = 1L;

    DamagedFileException(String message) {
        super(message);
    }
}
