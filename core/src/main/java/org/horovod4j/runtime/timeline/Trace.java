package org.horovod4j.runtime.timeline;

import java.io.IOException;

/// Writes a [TraceFile] in the words of the trace event format: slices, ticks and marks on numbered rows.
///
/// A row is a process of the format with one thread, because viewers let processes have names and an order.
/// Numbers start at 1, since Perfetto takes process 0 for the idle one.
final class Trace {
    /// The row of the file itself: what it holds, cycles, and what could not be recorded.
    static final int OWN_ROW = 1;

    private static final String NAME = "name";

    private final TraceFile file;
    private final TraceHeader header;

    Trace(TraceFile file, TraceHeader header) {
        this.file = file;
        this.header = header;
    }

    void begin() throws IOException {
        file.begin(metadata("process_name", OWN_ROW, header.arguments()));
        order(OWN_ROW, 0);
    }

    /// Names a row and says where it stands.
    void row(int row, String name, int order) throws IOException {
        file.add(metadata("process_name", row, new JsonText().put(NAME, name)));
        order(row, order);
    }

    private void order(int row, int order) throws IOException {
        file.add(metadata("process_sort_index", row, new JsonText().put("sort_index", order)));
        String rank = "rank " + header.owner().rank();
        file.add(metadata("thread_name", row, new JsonText().put(NAME, rank)));
    }

    /// A slice of which both ends are known.
    void slice(int row, String name, long beginNanos, long endNanos, JsonText arguments)
            throws IOException {
        long begin = eighths(beginNanos);
        JsonText event = event(name, "X", row, begin);
        event.putRaw("dur", Micros.text(eighths(endNanos) - begin));
        file.add(with(arguments, event));
    }

    /// The begin of a slice that [#end] will end.
    void begin(int row, String name, long nanos) throws IOException {
        file.add(event(name, "B", row, eighths(nanos)));
    }

    void end(int row, long nanos, JsonText arguments) throws IOException {
        JsonText event = new JsonText().put("ph", "E");
        file.addLast(with(arguments, place(event, row, eighths(nanos))));
    }

    /// A slice without duration, which viewers draw as a tick.
    void tick(int row, String name, long nanos) throws IOException {
        file.add(event(name, "X", row, eighths(nanos)).put("dur", 0));
    }

    /// A line across all rows.
    void mark(String name, long nanos) throws IOException {
        file.add(event(name, "i", OWN_ROW, eighths(nanos)).put("s", "g"));
    }

    /// A line across all rows that tells something about the trace itself.
    void notice(String name, long nanos, JsonText arguments) throws IOException {
        JsonText event = event(name, "i", OWN_ROW, eighths(nanos)).put("s", "g");
        file.addLast(with(arguments, event));
    }

    private static JsonText metadata(String name, int row, JsonText arguments) {
        return new JsonText()
                .put(NAME, name)
                .put("ph", "M")
                .put("pid", row)
                .put("tid", row)
                .put("args", arguments);
    }

    private static JsonText event(String name, String kind, int row, long eighths) {
        return place(new JsonText().put(NAME, name).put("ph", kind), row, eighths);
    }

    private static JsonText place(JsonText event, int row, long eighths) {
        return event.put("pid", row).put("tid", row).putRaw("ts", Micros.text(eighths));
    }

    private static JsonText with(JsonText arguments, JsonText event) {
        return arguments.isEmpty() ? event : event.put("args", arguments);
    }

    /// Since the begin of the file; what began before it begins with it.
    private long eighths(long nanos) {
        return Micros.eighths(Math.max(0, nanos - header.startNanos()));
    }
}
