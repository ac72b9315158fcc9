package org.horovod4j.cuda;

import org.horovod4j.HorovodException;

/// A function of the CUDA driver failed. The message has its name and the library's own words.
public final class CudaException extends HorovodException {
    private static final long serialVersionUID = 1L;

    private final int code;

    CudaException(int code, String message) {
        super(message);
        this.code = code;
    }

    /// The error code of the library.
    public int code() {
        return code;
    }
}
