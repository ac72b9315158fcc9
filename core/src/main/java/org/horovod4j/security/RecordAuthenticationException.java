package org.horovod4j.security;

import org.jspecify.annotations.Nullable;

import java.io.IOException;

/// The bytes received over an encrypted connection are not those that the peer sent. The connection
/// cannot be used any more.
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
