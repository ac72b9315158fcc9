package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testsupport.ParsedTrace.arguments;
import static org.horovod4j.testsupport.ParsedTrace.number;

import org.horovod4j.testsupport.ParsedTrace;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

final class TraceMergerTest {
    private static final long SECOND = 1_000_000_000L;

    @TempDir Path folder;

    private final ByteArrayOutputStream output = new ByteArrayOutputStream();

    /// A file of one allreduce that ran from 2 to 5 microseconds after the start.
    private Path fileOf(int rank, String host, long startNanos, long offset, String tensor)
            throws IOException {
        Path file = folder.resolve("trace.rank" + rank + ".json");
        EventQueue queue = new EventQueue(128, () -> {});
        TraceOwner owner = new TraceOwner(rank, host, offset);
        Collective collective = SampleCollectives.allreduce(tensor);
        TraceFile target = TraceFile.open(file, Timeline.UNLIMITED);
        try (TraceWriter _ = new TraceWriter(queue, target, owner, () -> startNanos)) {
            queue.offer(new TimelineEvent.Cycle(startNanos));
            queue.offer(new TimelineEvent.Started(collective, startNanos + 2_000));
            queue.offer(new TimelineEvent.Ended(collective, startNanos + 5_000));
        }
        return file;
    }

    private ParsedTrace merged() throws IOException {
        return ParsedTrace.of(folder.resolve("merged.json"));
    }

    private TraceMerger.Summary merge(Path... files) throws IOException {
        return TraceMerger.merge(List.of(files), folder.resolve("merged.json"));
    }

    private int run(String... arguments) {
        PrintStream stream = new PrintStream(output, true, StandardCharsets.UTF_8);
        return TraceMerger.run(stream, stream, arguments);
    }

    @Test
    void theTimesOfAllRanksAreOnTheClockOfRankZero() throws IOException {
        // Rank 1 began 3 us later than rank 0, by a clock that is ahead by a thousand seconds.
        Path one = fileOf(1, "host-b", 1010 * SECOND + 3_000, -1000 * SECOND, "of1");
        Path zero = fileOf(0, "host-a", 10 * SECOND, 0, "of0");
        TraceMerger.Summary summary = merge(one, zero);

        ParsedTrace trace = merged();
        trace.assertNested();
        assertThat(summary.truncated()).isEmpty();
        assertThat(trace.events()).hasSize((int) summary.events());
        assertThat(number(trace.only("of0", "ALLREDUCE"), "ts")).isEqualByComparingTo("10000002");
        assertThat(number(trace.only("of1", "ALLREDUCE"), "ts")).isEqualByComparingTo("10000005");
        assertThat(number(trace.only("of1", "ALLREDUCE"), "dur")).isEqualByComparingTo("3");
    }

    @Test
    void eachRankIsAProcessAndEachTensorAThread() throws IOException {
        merge(fileOf(0, "host-a", 0, 0, "w"), fileOf(3, "host \"b\"", 0, 0, "w"));
        ParsedTrace trace = merged();
        assertThat(trace.notices("process_name"))
                .extracting(event -> arguments(event).get("name"))
                .containsExactly("rank 0 (host-a)", "rank 3 (host \"b\")");
        List<Map<String, Object>> both = trace.eventsOn("w", "X").toList();
        assertThat(both).extracting(event -> event.get("pid")).doesNotHaveDuplicates().hasSize(2);
        assertThat(both).extracting(event -> event.get("tid")).doesNotHaveDuplicates();
        assertThat(trace.notices("CYCLE_START"))
                .extracting(event -> event.get("s"))
                .containsOnly("p");
    }

    @Test
    void truncatedFileYieldsAllCompleteEvents() throws IOException {
        Path file = fileOf(0, "host", 0, 0, "äöü \"w\" 🚀");
        byte[] whole = Files.readAllBytes(file);
        long events = merge(file).events();
        String text = new String(whole, StandardCharsets.UTF_8);
        int header =
                text.substring(0, text.indexOf("\n", 3)).getBytes(StandardCharsets.UTF_8).length;
        long before = 0;
        for (int length = header + 1; length < whole.length - 1; length++) {
            Files.write(file, Arrays.copyOf(whole, length));
            TraceMerger.Summary summary = merge(file);
            assertThat(summary.truncated()).as("%d bytes", length).containsExactly(file);
            assertThat(summary.events()).isGreaterThanOrEqualTo(before).isLessThanOrEqualTo(events);
            assertThat(merged().events()).hasSize((int) summary.events());
            before = summary.events();
        }
        assertThat(before).isEqualTo(events);
    }

    @Test
    void garbageAtTheEndIsSkipped() throws IOException {
        Path file = fileOf(0, "host", 0, 0, "w");
        long events = merge(file).events();
        String whole = Files.readString(file);
        for (String rubbish :
                List.of("\n\0\0\0\0", ",\n{\"name\":tru", ",\n{\"a\":\"\\x\"}", ",\n,{}")) {
            Files.writeString(file, whole.substring(0, whole.length() - 3) + rubbish);
            TraceMerger.Summary summary = merge(file);
            assertThat(summary.truncated()).as(rubbish).containsExactly(file);
            assertThat(summary.events()).isEqualTo(events);
            assertThat(merged().on("w", "X")).containsExactly("ALLREDUCE");
        }
    }

    /// A disk may lose the end of the last write, with the line feed after an event.
    @Test
    void anEventWhoseLineIsCutIsLeftOut() throws IOException {
        Path file = fileOf(0, "host", 0, 0, "w");
        long events = merge(file).events();
        String whole = Files.readString(file);
        Files.writeString(file, whole.substring(0, whole.length() - 3) + "\0\0\0\0");
        TraceMerger.Summary summary = merge(file);
        assertThat(summary.truncated()).containsExactly(file);
        assertThat(summary.events()).isEqualTo(events - 1);
        assertThat(merged().events()).hasSize((int) events - 1);
    }

    @Test
    void mergedFileMayOverwriteAnInput() throws IOException {
        Path zero = fileOf(0, "host", 0, 0, "of0");
        Path one = fileOf(1, "host", 0, 0, "of1");
        TraceMerger.merge(List.of(zero, one), zero);
        assertThat(ParsedTrace.of(zero).on("of1", "X")).containsExactly("ALLREDUCE");
        assertThat(folder).isDirectoryNotContaining("glob:**.part");
    }

    @Test
    void noFilesGiveAnEmptyTrace() throws IOException {
        assertThat(merge().events()).isZero();
        assertThat(merged().events()).isEmpty();
    }

    @Test
    void duplicateRanksAndForeignFilesAreRejectedByName() throws IOException {
        Path file = fileOf(0, "host", 0, 0, "w");
        Path copy = Files.copy(file, folder.resolve("copy.json"));
        assertThatThrownBy(() -> merge(file, copy))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(file.toString())
                .hasMessageContaining("copy.json")
                .hasMessageContaining("rank 0");
        for (String foreign :
                List.of("", "[]", "{}", "[{}]", "[{\"args\":{\"rank\":\"x\"}}]", "hello")) {
            Files.writeString(copy, foreign);
            assertThatThrownBy(() -> merge(copy))
                    .as(foreign)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("copy.json is not the timeline of a rank");
        }
        assertThat(folder.resolve("merged.json")).doesNotExist();
    }

    @Test
    void commandMergesAndReportsTruncatedFiles() throws IOException {
        Path zero = fileOf(0, "host", 0, 0, "of0");
        Path one = fileOf(1, "host", 0, 0, "of1");
        Files.write(one, Arrays.copyOf(Files.readAllBytes(one), (int) Files.size(one) - 10));
        String target = folder.resolve("merged.json").toString();
        assertThat(run(target, zero.toString(), one.toString())).isZero();
        assertThat(output.toString(StandardCharsets.UTF_8))
                .contains("trace.rank1.json ends early")
                .contains("events of 2 ranks");
        assertThat(merged().on("of0", "X")).containsExactly("ALLREDUCE");
    }

    @Test
    void commandPrintsUsageAndErrors() {
        assertThat(run()).isEqualTo(2);
        assertThat(run("--help")).isEqualTo(2);
        assertThat(output.toString(StandardCharsets.UTF_8))
                .contains("usage: TraceMerger MERGED FILE");
        String missing = folder.resolve("missing.json").toString();
        assertThat(run(folder.resolve("merged.json").toString(), missing)).isEqualTo(1);
        assertThat(output.toString(StandardCharsets.UTF_8))
                .contains("no file or folder " + missing);
    }
}
