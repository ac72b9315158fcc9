package org.horovod4j.launcher.function;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.function.Consumer;

/// Passes what is written to it to a consumer, line by line and without line ends.
public final class LineOutputStream extends OutputStream {
    private final Consumer<String> lines;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private boolean afterCarriageReturn;

    public LineOutputStream(Consumer<String> lines) {
        this.lines = lines;
    }

    /// Ends a line at a line feed or, for progress bars, at a carriage return.
    ///
    /// @throws IOException when the consumer failed; the writer then stops using this stream
    @Override
    public void write(int octet) throws IOException {
        boolean endOfCrLf = octet == '\n' && afterCarriageReturn;
        afterCarriageReturn = octet == '\r';
        if (endOfCrLf) {
            return;
        }
        if (octet != '\n' && octet != '\r') {
            line.write(octet);
            return;
        }
        pass();
    }

    /// Passes on a last line without an end.
    @Override
    public void close() throws IOException {
        if (line.size() > 0) {
            pass();
        }
    }

    private void pass() throws IOException {
        String text = line.toString(UTF_8);
        line.reset();
        try {
            lines.accept(text);
        } catch (RuntimeException e) {
            throw new IOException("the consumer of its lines failed: " + e, e);
        }
    }
}
