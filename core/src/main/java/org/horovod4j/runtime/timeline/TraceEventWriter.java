package org.horovod4j.runtime.timeline;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Writes a [TraceFile] in the words of the trace event format: slices, ticks and marks on numbered
/// rows.
///
/// A row is a process of the format with one thread, because viewers let processes have names and
/// an order. Numbers start at 1, since Perfetto takes process 0 for the idle one.
final class TraceEventWriter {
    /// The row of the file itself: what it holds, cycles, and what could not be recorded.
    static final int OWN_ROW = 1;

    static final byte[] NO_ARGUMENTS = {};

    private static final String NAME = "name";
    private static final byte[] DURATION = utf8(",\"dur\":");
    private static final byte[] ARGUMENTS = utf8(",\"args\":");
    private static final byte[] CLOSING = utf8("}");

    private final TraceFile file;
    private final TraceHeader header;

    /// The beginnings of slices by name, of which there are few: operations, activities, ranks.
    private final Map<String, byte[]> openings = new HashMap<>();

    /// The middles of slices by row.
    private final List<byte[]> places = new ArrayList<>();

    TraceEventWriter(TraceFile file, TraceHeader header) {
        this.file = file;
        this.header = header;
    }

    void begin() throws IOException {
        file.begin(metadata("process_name", OWN_ROW, header.arguments()));
        order(OWN_ROW, 0);
    }

    /// Names a row and says where it stands.
    void row(int row, String name, int order) throws IOException {
        file.add(metadata("process_name", row, new JsonBuilder().put(NAME, name)));
        order(row, order);
    }

    private void order(int row, int order) throws IOException {
        file.add(metadata("process_sort_index", row, new JsonBuilder().put("sort_index", order)));
        String rank = "rank " + header.owner().rank();
        file.add(metadata("thread_name", row, new JsonBuilder().put(NAME, rank)));
    }

    /// A slice of which both ends are known.
    ///
    /// Nearly all events are slices, so this one takes no way but the shortest: words that were
    /// seen before are bytes already.
    void slice(int row, String name, long beginNanos, long endNanos, byte[] arguments)
            throws IOException {
        long begin = eighths(beginNanos);
        TextBuffer text = file.next().put(opening(name)).put(place(row));
        TraceTime.put(begin, text);
        text.put(DURATION);
        TraceTime.put(eighths(endNanos) - begin, text);
        if (arguments.length > 0) {
            text.put(ARGUMENTS).put(arguments);
        }
        text.put(CLOSING);
        file.end();
    }

    private byte[] opening(String name) {
        byte[] known = openings.get(name);
        if (known == null) {
            String text = new JsonBuilder().put(NAME, name).put("ph", "X").toString();
            known = utf8(text.substring(0, text.length() - 1));
            openings.put(name, known);
        }
        return known;
    }

    private byte[] place(int row) {
        while (places.size() <= row) {
            int next = places.size();
            places.add(utf8(",\"pid\":%d,\"tid\":%d,\"ts\":".formatted(next, next)));
        }
        return places.get(row);
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /// The begin of a slice that [#end] will end.
    void begin(int row, String name, long nanos) throws IOException {
        file.add(event(name, "B", row, eighths(nanos)));
    }

    void end(int row, long nanos, byte[] arguments) throws IOException {
        JsonBuilder event = place(new JsonBuilder().put("ph", "E"), row, eighths(nanos));
        if (arguments.length > 0) {
            event.putRaw("args", new String(arguments, StandardCharsets.UTF_8));
        }
        file.addLast(event);
    }

    /// A slice without duration, which viewers draw as a tick.
    void tick(int row, String name, long nanos) throws IOException {
        slice(row, name, nanos, nanos, NO_ARGUMENTS);
    }

    /// A line across all rows.
    void mark(String name, long nanos) throws IOException {
        file.add(event(name, "i", OWN_ROW, eighths(nanos)).put("s", "g"));
    }

    /// A line across all rows that tells something about the trace itself.
    void notice(String name, long nanos, JsonBuilder arguments) throws IOException {
        JsonBuilder event = event(name, "i", OWN_ROW, eighths(nanos)).put("s", "g");
        file.addLast(event.put("args", arguments));
    }

    private static JsonBuilder metadata(String name, int row, JsonBuilder arguments) {
        return new JsonBuilder()
                .put(NAME, name)
                .put("ph", "M")
                .put("pid", row)
                .put("tid", row)
                .put("args", arguments);
    }

    private static JsonBuilder event(String name, String kind, int row, long eighths) {
        return place(new JsonBuilder().put(NAME, name).put("ph", kind), row, eighths);
    }

    private static JsonBuilder place(JsonBuilder event, int row, long eighths) {
        return event.put("pid", row).put("tid", row).putRaw("ts", TraceTime.text(eighths));
    }

    /// Since the begin of the file; what began before it begins with it.
    private long eighths(long nanos) {
        return TraceTime.eighths(Math.max(0, nanos - header.startNanos()));
    }
}
