package org.horovod4j.runtime.timeline;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Writes a [TraceFile] in the trace event format: slices, ticks and marks on numbered rows.
///
/// A rank is a process of the format and a row is a thread of it. All times are on the clock of
/// rank 0. So the files of several ranks can be concatenated: see [TraceMerger].
final class TraceEventWriter {
    /// The row of the file itself: cycles, and notices about the recording.
    static final int OWN_ROW = 1;

    static final byte[] NO_ARGUMENTS = {};

    /// Thread numbers are unique in a merged trace: viewers know a thread by its number alone.
    private static final int ROWS_PER_RANK = 1 << 16;

    private static final String NAME = "name";
    private static final byte[] DURATION = utf8(",\"dur\":");
    private static final byte[] ARGUMENTS = utf8(",\"args\":");
    private static final byte[] CLOSING = utf8("}");

    private final TraceFile file;
    private final TraceOwner owner;
    private final long startNanos;

    /// Process numbers start at 1: Perfetto takes process 0 for the idle process.
    private final int process;

    /// The first bytes of slices by name. There are few names: operations, activities, ranks.
    private final Map<String, byte[]> openings = new HashMap<>();

    /// The middle bytes of slices by row.
    private final List<byte[]> places = new ArrayList<>();

    /// @param startNanos when the file begins, by this rank's [System#nanoTime]
    TraceEventWriter(TraceFile file, TraceOwner owner, long startNanos) {
        this.file = file;
        this.owner = owner;
        this.startNanos = startNanos;
        this.process = owner.rank() + 1;
    }

    /// Writes the header, by which [TraceMerger] knows a file of ours.
    void begin() throws IOException {
        JsonBuilder arguments =
                new JsonBuilder()
                        .put(NAME, "rank %d (%s)".formatted(owner.rank(), owner.host()))
                        .put(
                                "start_time_since_epoch_in_micros",
                                ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()))
                        .putRaw("start_ts", TraceTime.text(eighths(startNanos)))
                        .put("rank", owner.rank())
                        .put("clock_offset_nanos", owner.clockOffsetNanos());
        file.begin(metadata("process_name", OWN_ROW, arguments));
        file.add(metadata("process_sort_index", OWN_ROW, sortIndex(owner.rank())));
        row(OWN_ROW, "horovod4j", 0);
    }

    /// Names a row and sets its place among the rows.
    void row(int row, String name, int order) throws IOException {
        file.add(metadata("thread_name", row, new JsonBuilder().put(NAME, name)));
        file.add(metadata("thread_sort_index", row, sortIndex(order)));
    }

    private static JsonBuilder sortIndex(int index) {
        return new JsonBuilder().put("sort_index", index);
    }

    /// A slice with a known begin and end.
    ///
    /// Nearly all events are slices, so this is fast: it copies bytes that were formatted before.
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
            int thread = thread(places.size());
            places.add(utf8(",\"pid\":%d,\"tid\":%d,\"ts\":".formatted(process, thread)));
        }
        return places.get(row);
    }

    private int thread(int row) {
        return owner.rank() * ROWS_PER_RANK + row;
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /// The begin of a slice that [#end] will end.
    void begin(int row, String name, long nanos) throws IOException {
        file.add(event(name, "B", row, nanos));
    }

    void end(int row, long nanos, byte[] arguments) throws IOException {
        JsonBuilder event = place(new JsonBuilder().put("ph", "E"), row, nanos);
        if (arguments.length > 0) {
            event.putRaw("args", new String(arguments, StandardCharsets.UTF_8));
        }
        file.addLast(event);
    }

    /// A slice without duration, which viewers draw as a tick.
    void tick(int row, String name, long nanos) throws IOException {
        slice(row, name, nanos, nanos, NO_ARGUMENTS);
    }

    /// A line across all rows of this rank.
    void mark(String name, long nanos) throws IOException {
        file.add(event(name, "i", OWN_ROW, nanos).put("s", "p"));
    }

    /// A line across all rows of this rank with a notice about the recording.
    void notice(String name, long nanos, JsonBuilder arguments) throws IOException {
        file.addLast(event(name, "i", OWN_ROW, nanos).put("s", "p").put("args", arguments));
    }

    private JsonBuilder metadata(String name, int row, JsonBuilder arguments) {
        return new JsonBuilder()
                .put(NAME, name)
                .put("ph", "M")
                .put("pid", process)
                .put("tid", thread(row))
                .put("args", arguments);
    }

    private JsonBuilder event(String name, String kind, int row, long nanos) {
        return place(new JsonBuilder().put(NAME, name).put("ph", kind), row, nanos);
    }

    private JsonBuilder place(JsonBuilder event, int row, long nanos) {
        return event.put("pid", process)
                .put("tid", thread(row))
                .putRaw("ts", TraceTime.text(eighths(nanos)));
    }

    /// On the clock of rank 0. What began before the file begins with the file.
    private long eighths(long nanos) {
        return TraceTime.eighths(Math.max(nanos, startNanos) + owner.clockOffsetNanos());
    }
}
