package org.horovod4j.codec;

import org.horovod4j.HorovodException;
import org.jspecify.annotations.Nullable;

/// An object cannot be sent: it contains an unsupported type, its bytes are corrupt, or the ranks
/// have different versions of its class. Fix the program. Tensors are not affected.
public final class CodecException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public CodecException(String message) {
        super(message);
    }

    public CodecException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
