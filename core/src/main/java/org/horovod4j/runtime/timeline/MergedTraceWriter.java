package org.horovod4j.runtime.timeline;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/// The trace of many ranks: each rank is a process, and what was a row of its file is a thread
/// there.
final class MergedTraceWriter {
    private final OutputStream out;
    private final long firstNanos;
    private long events;

    /// Numbers of threads are unique in the whole trace: viewers know a thread by its number alone.
    private int lastThread;

    /// @param firstNanos what is time zero, on the clock of rank 0
    MergedTraceWriter(OutputStream out, long firstNanos) {
        this.out = out;
        this.firstNanos = firstNanos;
    }

    long events() {
        return events;
    }

    /// Copies all events of one rank.
    void add(TraceReader reader) throws IOException {
        RankPart rankPart = new RankPart(reader.header());
        rankPart.begin();
        for (Map<String, String> event = reader.next(); event != null; event = reader.next()) {
            try {
                rankPart.copy(event);
            } catch (NumberFormatException e) {
                throw new IOException("%s: an event has no time".formatted(reader.path()), e);
            }
        }
    }

    void end() throws IOException {
        write(events == 0 ? "[\n]\n" : "\n]\n");
    }

    private void event(JsonBuilder event) throws IOException {
        write(events == 0 ? "[\n" : ",\n");
        write(event.toString());
        events++;
    }

    private void write(String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
    }

    /// One rank.
    private final class RankPart {
        private final TraceHeader header;
        private final int process;
        private final long shiftEighths;
        private final Map<String, Integer> threads = new HashMap<>();

        RankPart(TraceHeader header) {
            this.header = header;
            this.process = header.owner().rank() + 1;
            this.shiftEighths = TraceTime.eighths(header.startNanosOfRankZero() - firstNanos);
        }

        void begin() throws IOException {
            TraceOwner owner = header.owner();
            String name = "rank %d (%s)".formatted(owner.rank(), owner.host());
            int own = thread(Integer.toString(TraceEventWriter.OWN_ROW));
            metadata("process_name", own, header.arguments(name, shiftEighths / 8).toString());
            metadata("process_sort_index", own, order(owner.rank()));
            metadata("thread_name", own, new JsonBuilder().put("name", "cycles").toString());
        }

        void copy(Map<String, String> event) throws IOException {
            int thread = thread(event.getOrDefault("pid", ""));
            String arguments = event.getOrDefault("args", "{}");
            switch (event.getOrDefault("name", "")) {
                case "\"process_name\"" -> metadata("thread_name", thread, arguments);
                case "\"process_sort_index\"" -> metadata("thread_sort_index", thread, arguments);
                case "\"thread_name\"" -> {
                    // The rank, which is the process here.
                }
                default -> event(moved(event, thread));
            }
        }

        private JsonBuilder moved(Map<String, String> event, int thread) {
            JsonBuilder moved = new JsonBuilder();
            event.forEach(
                    (key, value) -> {
                        switch (key) {
                            case "pid" -> moved.put(key, process);
                            case "tid" -> moved.put(key, thread);
                            case "ts" -> moved.putRaw(key, shifted(value));
                            // A mark of one rank crosses its own rows alone.
                            case "s" -> moved.put(key, "p");
                            default -> moved.putRaw(key, value);
                        }
                    });
            return moved;
        }

        private String shifted(String micros) {
            return TraceTime.text(TraceTime.parse(micros) + shiftEighths);
        }

        private int thread(String row) {
            return threads.computeIfAbsent(row, _ -> ++lastThread);
        }

        private void metadata(String name, int thread, String arguments) throws IOException {
            event(
                    new JsonBuilder()
                            .put("name", name)
                            .put("ph", "M")
                            .put("pid", process)
                            .put("tid", thread)
                            .putRaw("args", arguments));
        }

        private static String order(int index) {
            return new JsonBuilder().put("sort_index", index).toString();
        }
    }
}
