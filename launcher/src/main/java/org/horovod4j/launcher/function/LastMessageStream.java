package org.horovod4j.launcher.function;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;

/// Passes everything on, and remembers what the launcher said last: when a job fails, that is who
/// failed first, how, and with which last lines.
public final class LastMessageStream extends OutputStream {
    /// Stands before whatever the launcher itself says; what ranks print has another prefix.
    private static final String PREFIX = "horovodrun: ";

    private final OutputStream next;
    private volatile String lastMessage = "";

    public LastMessageStream(OutputStream next) {
        this.next = next;
    }

    public String lastMessage() {
        return lastMessage;
    }

    @Override
    public void write(int octet) throws IOException {
        next.write(octet);
    }

    /// The launcher says each of its messages in one write.
    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
        String written = new String(bytes, from, Math.min(length, PREFIX.length()), UTF_8);
        if (written.equals(PREFIX)) {
            lastMessage = new String(bytes, from, length, UTF_8).substring(PREFIX.length()).strip();
        }
        next.write(bytes, from, length);
    }

    @Override
    public void flush() throws IOException {
        next.flush();
    }
}
