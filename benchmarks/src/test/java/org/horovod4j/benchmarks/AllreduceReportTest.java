package org.horovod4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.report.Result;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

class AllreduceReportTest {
    @Test
    void comparesRoundByRound() {
        // Both programs slow down by the same factor in each round, so the ratio stays at 2.
        List<Result> results =
                parse(
                        "openmpi@shm,2,4,1,1,1,1,1",
                        "horovod4j-heap@shm,2,4,1,1,0.5,0.5,0.5",
                        "openmpi@shm,2,4,2,1,3,3,3",
                        "horovod4j-heap@shm,2,4,2,1,1.5,1.5,1.5");

        assertThat(rows(results))
                .containsExactly(
                        "size|openmpi|horovod4j-heap|heap: speedup over openmpi",
                        "4 B|2.00 µs [1.20..2.80]|1.00 µs [0.60..1.40]|2.00 [2.00..2.00]");
    }

    @Test
    void eachSetupHasItsOwnTableSortedBySize() {
        List<Result> results =
                parse(
                        "horovod4j-heap@tcp,4,1048576,1,1,2500,2400,2600",
                        "horovod4j-heap@tcp,4,65536,1,1,300,290,310",
                        "horovod4j-heap@shm,2,4,1,1,0.5,0.5,0.5");

        String report = AllreduceReport.render(results, "a machine", "plot.svg");

        assertThat(report)
                .contains("a machine", "![Time over size](plot.svg)")
                .containsSubsequence(
                        "4 processes over tcp",
                        "64 KiB",
                        "1 MiB",
                        "2 processes over shared",
                        "4 B");
        assertThat(rows(results)).contains("1 MiB|2.50 ms [2.50..2.50]");
    }

    @Test
    void missingMeasurementsShowADash() {
        List<Result> results =
                parse(
                        "openmpi@shm,2,4,1,1,1,1,1",
                        "horovod4j-heap@shm,2,4,1,1,0.5,0.5,0.5",
                        "horovod4j-heap@shm,2,64,1,1,0.5,0.5,0.5");

        assertThat(rows(results)).contains("64 B|–|0.50 µs [0.50..0.50]|–");
    }

    @Test
    void comparesTlsWithPlaintext() {
        List<Result> results =
                parse(
                        "horovod4j-native@tcp,2,4,1,1,2,2,2",
                        "horovod4j-native-tls@tcp,2,4,1,1,3,3,3",
                        "horovod4j-heap@tcp,2,4,1,1,2,2,2");

        assertThat(rows(results))
                .containsExactly(
                        "size|horovod4j-heap|horovod4j-native|horovod4j-native-tls|native-tls: time ÷ native",
                        "4 B|2.00 µs [2.00..2.00]|2.00 µs [2.00..2.00]|3.00 µs [3.00..3.00]|1.50 [1.50..1.50]");
    }

    @Test
    void failedRoundDoesNotShiftTheOthers() {
        // Open MPI failed in round 1. Pairs by position would give the ratios 6 and 2.67.
        List<Result> results =
                parse(
                        "horovod4j-heap@shm,2,4,1,1,1,1,1",
                        "openmpi@shm,2,4,2,1,6,6,6",
                        "horovod4j-heap@shm,2,4,2,1,3,3,3",
                        "horovod4j-heap@shm,2,4,3,1,4,4,4",
                        "openmpi@shm,2,4,3,1,8,8,8");

        assertThat(rows(results)).last().asString().endsWith("|2.00 [2.00..2.00] (1 dropped)");
    }

    @Test
    void comparesProgramsWithAMetricWithEachOther() {
        List<Result> results =
                parse(
                        "openmpi-metric@shm,2,4,1,1,6,6,6",
                        "horovod4j-native-metric@shm,2,4,1,1,4,4,4",
                        "openmpi@shm,2,4,1,1,3,3,3",
                        "horovod4j-native@shm,2,4,1,1,1,1,1");

        assertThat(rows(results))
                .containsExactly(
                        "size|openmpi|openmpi-metric|horovod4j-native|horovod4j-native-metric"
                                + "|native: speedup over openmpi"
                                + "|native-metric: speedup over openmpi-metric"
                                + "|openmpi-metric: time ÷ openmpi|native-metric: time ÷ native",
                        "4 B|3.00 µs [3.00..3.00]|6.00 µs [6.00..6.00]|1.00 µs [1.00..1.00]"
                                + "|4.00 µs [4.00..4.00]|3.00 [3.00..3.00]|1.50 [1.50..1.50]"
                                + "|2.00 [2.00..2.00]|4.00 [4.00..4.00]");
    }

    @Test
    void writesAPlotBesideTheTables(@TempDir Path folder) throws IOException {
        Path csv =
                Files.writeString(
                        folder.resolve("today.csv"),
                        """
                        openmpi@shm,2,4,1,1,1,1,1
                        horovod4j-heap@shm,2,4,1,1,2,2,2
                        horovod4j-heap@tcp,2,4,1,1,3,3,3
                        """);
        Path markdown = folder.resolve("today.md");

        AllreduceReport.main(new String[] {csv.toString(), markdown.toString()});

        assertThat(markdown).content().contains("](today.svg)");
        assertThat(folder.resolve("today.svg"))
                .content()
                .contains("2 processes over shared memory", "2 processes over tcp")
                .contains("openmpi, 4 B: 1.00 µs", "horovod4j-heap, 4 B: 3.00 µs");
    }

    private static List<Result> parse(String... lines) {
        return Stream.of(lines).map(Result::parse).toList();
    }

    /// The rows of all tables, without separators and padding.
    private static List<String> rows(List<Result> results) {
        return AllreduceReport.render(results, "", "")
                .lines()
                .filter(line -> line.startsWith("| "))
                .map(
                        line ->
                                line.substring(1, line.length() - 1)
                                        .strip()
                                        .replaceAll(" *\\| *", "|"))
                .toList();
    }
}
