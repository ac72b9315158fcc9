package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/// Reads the events of a trace file one by one.
///
/// A process may have been killed while it wrote, or its machine may have stopped: the file then
/// ends in the middle of an event or in rubbish. Reading ends before that, and [#isTruncated] tells.
final class TraceReader implements Closeable {
    /// Longer than any event of ours; a file without an end to its first object is none of ours.
    private static final int MAX_EVENT_CHARS = 1 << 20;

    private final Path path;
    private final Reader reader;
    private final TraceHeader header;
    private boolean truncated;

    private TraceReader(Path path, Reader reader) throws IOException {
        this.path = path;
        this.reader = reader;
        this.header = readHeader();
    }

    /// @throws IOException when it cannot be read, or is no trace that a [Timeline] has written
    static TraceReader open(Path path) throws IOException {
        // Bytes that are no UTF-8 are read as replacement characters, not as an error.
        InputStream bytes = Files.newInputStream(path);
        Reader reader = new BufferedReader(new InputStreamReader(bytes, StandardCharsets.UTF_8));
        try {
            return new TraceReader(path, reader);
        } catch (IOException e) {
            try (reader) {
                throw e;
            }
        }
    }

    Path path() {
        return path;
    }

    TraceHeader header() {
        return header;
    }

    /// Whether the file ended without its closing bracket.
    boolean isTruncated() {
        return truncated;
    }

    private TraceHeader readHeader() throws IOException {
        if (skipSpace() == '[') {
            Map<String, String> first = next();
            String arguments = first == null ? null : first.get("args");
            if (arguments != null) {
                try {
                    return TraceHeader.parse(arguments);
                } catch (IllegalArgumentException e) {
                    throw notATimeline(e);
                }
            }
        }
        throw notATimeline(null);
    }

    private IOException notATimeline(@Nullable Throwable cause) {
        return new IOException(
                "%s is not the timeline of a rank: it does not begin with a header".formatted(path),
                cause);
    }

    /// The values of the next event, as JSON, or null at the end.
    @Nullable Map<String, String> next() throws IOException {
        if (truncated) {
            return null;
        }
        int c = skipSpace();
        if (c == ',') {
            c = skipSpace();
        }
        if (c == ']') {
            return null;
        }
        Map<String, String> event = c == '{' ? parse(object()) : null;
        truncated = event == null;
        return event;
    }

    private static @Nullable Map<String, String> parse(@Nullable String text) {
        if (text == null) {
            return null;
        }
        try {
            return new JsonScanner(text).object();
        } catch (IllegalArgumentException e) {
            // Rubbish where the next event should be, which is how a cut file ends.
            return null;
        }
    }

    /// The text from an opening brace, already read, to the one that closes it; null if there is
    /// none.
    private @Nullable String object() throws IOException {
        StringBuilder text = new StringBuilder("{");
        int depth = 1;
        boolean quoted = false;
        while (depth > 0) {
            int c = reader.read();
            if (c < 0 || text.length() == MAX_EVENT_CHARS) {
                return null;
            }
            text.append((char) c);
            if (quoted && c == '\\') {
                int escaped = reader.read();
                if (escaped < 0) {
                    return null;
                }
                text.append((char) escaped);
            } else if (c == '"') {
                quoted = !quoted;
            } else if (!quoted && c == '{') {
                depth++;
            } else if (!quoted && c == '}') {
                depth--;
            }
        }
        return text.toString();
    }

    private int skipSpace() throws IOException {
        int c;
        do {
            c = reader.read();
        } while (c == ' ' || c == '\n' || c == '\r' || c == '\t');
        return c;
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }
}
