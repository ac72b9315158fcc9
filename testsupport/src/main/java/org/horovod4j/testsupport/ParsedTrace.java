package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// A trace that a timeline has written, for Perfetto.
public record ParsedTrace(List<Map<String, Object>> events) {

    /// Fails unless the file is valid UTF-8 and valid JSON.
    @SuppressWarnings("unchecked") // a trace is a list of objects; anything else fails a line later
    public static ParsedTrace of(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        return new ParsedTrace((List<Map<String, Object>>) StrictJson.parse(text));
    }

    /// The names of all rows.
    public List<String> rows() {
        return rowNames().values().stream().map(String::valueOf).distinct().toList();
    }

    /// The names of all events of these kinds on the row of that name, in the order of time.
    public List<String> on(String row, String kinds) {
        return eventsOn(row, kinds).map(event -> String.valueOf(event.get("name"))).toList();
    }

    /// The only slice, tick or mark of that name on that row.
    public Map<String, Object> only(String row, String name) {
        List<Map<String, Object>> found =
                eventsOn(row, "XBi").filter(event -> name.equals(event.get("name"))).toList();
        assertThat(found).as("%s on %s", name, row).hasSize(1);
        return found.getFirst();
    }

    public Stream<Map<String, Object>> eventsOn(String row, String kinds) {
        Map<Object, Object> names = rowNames();
        return events.stream()
                .filter(event -> kinds.contains(kind(event)))
                .filter(event -> row.equals(names.get(event.get("tid"))))
                .sorted(Comparator.comparing(event -> number(event, "ts")));
    }

    /// All events of that name, on any row.
    public List<Map<String, Object>> notices(String name) {
        return events.stream().filter(event -> name.equals(event.get("name"))).toList();
    }

    /// Row names by thread number.
    private Map<Object, Object> rowNames() {
        Map<Object, Object> names = new HashMap<>();
        for (Map<String, Object> event : notices("thread_name")) {
            names.put(event.get("tid"), arguments(event).get("name"));
        }
        return names;
    }

    /// Fails unless each begin has an end, and slices of a thread are nested or disjoint.
    public void assertNested() {
        Map<Object, List<Map<String, Object>>> threads = new HashMap<>();
        events.stream()
                .filter(event -> "XBE".contains(kind(event)))
                .sorted(Comparator.comparing(event -> number(event, "ts")))
                .forEach(
                        event ->
                                threads.computeIfAbsent(event.get("tid"), _ -> new ArrayList<>())
                                        .add(event));
        threads.forEach(ParsedTrace::assertNested);
    }

    private static void assertNested(Object thread, List<Map<String, Object>> events) {
        // The ends of the open slices; unknown for a slice with a begin event.
        Deque<BigDecimal> open = new ArrayDeque<>();
        BigDecimal unknown = BigDecimal.valueOf(Long.MAX_VALUE);
        for (Map<String, Object> event : events) {
            BigDecimal begin = number(event, "ts");
            while (!open.isEmpty() && open.peek().compareTo(begin) <= 0) {
                open.pop();
            }
            switch (kind(event)) {
                case "B" -> open.push(unknown);
                case "E" ->
                        assertThat(open.poll()).as("%s of %s", event, thread).isEqualTo(unknown);
                default -> {
                    BigDecimal end = begin.add(number(event, "dur"));
                    if (!open.isEmpty()) {
                        assertThat(end)
                                .as("%s of %s", event, thread)
                                .isLessThanOrEqualTo(open.peek());
                    }
                    open.push(end);
                }
            }
        }
        assertThat(open).as("begun and not ended on %s", thread).doesNotContain(unknown);
    }

    private static String kind(Map<String, Object> event) {
        return String.valueOf(event.get("ph"));
    }

    public static BigDecimal number(Map<String, Object> event, String key) {
        return event.get(key) instanceof BigDecimal number ? number : BigDecimal.ZERO;
    }

    @SuppressWarnings("unchecked") // arguments are an object by the format
    public static Map<String, Object> arguments(Map<String, Object> event) {
        @Nullable Object arguments = event.get("args");
        return arguments == null ? Map.of() : (Map<String, Object>) arguments;
    }
}
