package org.horovod4j.trust;

import java.io.ByteArrayOutputStream;

/// Byte arrays put together.
final class Bytes {
    private Bytes() {}

    static byte[] concat(byte[]... parts) {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            whole.writeBytes(part);
        }
        return whole.toByteArray();
    }
}
