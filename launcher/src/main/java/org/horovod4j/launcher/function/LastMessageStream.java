package org.horovod4j.launcher.function;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;

/// Forwards everything, and keeps the last message of the launcher: when a job fails, that is the
/// rank that failed first, how, and its last lines.
public final class LastMessageStream extends OutputStream {
    /// Precedes each message of the launcher. Output of ranks has another prefix.
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

    /// The launcher writes each message in one call.
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
