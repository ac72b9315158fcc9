package org.horovod4j.security;

import org.jspecify.annotations.Nullable;

import java.io.IOException;

/// What came over an encrypted connection is not what the other end sent. The connection is of no
/// use any more.
public final class RecordAuthenticationException extends IOException {
    private static final long serialVersionUID = 1L;

    RecordAuthenticationException(long record, @Nullable Throwable cause) {
        super(
                """
                record %d of the encrypted connection was changed, repeated, moved or left out on \
                its way, so nothing that follows can be trusted"""
                        .formatted(record),
                cause);
    }
}
