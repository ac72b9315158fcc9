package org.horovod4j.security;

import java.io.ByteArrayOutputStream;

/// Concatenates byte arrays.
final class ByteArrays {
    private ByteArrays() {}

    static byte[] concat(byte[]... parts) {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            whole.writeBytes(part);
        }
        return whole.toByteArray();
    }
}
