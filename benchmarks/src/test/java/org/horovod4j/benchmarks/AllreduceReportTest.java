package org.horovod4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.report.Result;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.Stream;

class AllreduceReportTest {
    @Test
    void comparesRoundByRound() {
        // Both programs slow down by the same factor in each round, so the ratio stays at 2.
        List<Result> results =
                parse(
                        "openmpi@shm,2,4,1,1,1",
                        "horovod4j-heap@shm,2,4,0.5,0.5,0.5",
                        "openmpi@shm,2,4,3,3,3",
                        "horovod4j-heap@shm,2,4,1.5,1.5,1.5");

        assertThat(rows(results))
                .containsExactly(
                        "size|openmpi|horovod4j-heap|heap: speedup over openmpi",
                        "4 B|2.00 µs [1.20..2.80]|1.00 µs [0.60..1.40]|2.00 [2.00..2.00]");
    }

    @Test
    void eachSetupHasItsOwnTableSortedBySize() {
        List<Result> results =
                parse(
                        "horovod4j-heap@tcp,4,1048576,2500,2400,2600",
                        "horovod4j-heap@tcp,4,65536,300,290,310",
                        "horovod4j-heap@shm,2,4,0.5,0.5,0.5");

        String report = AllreduceReport.render(results, "a machine");

        assertThat(report)
                .contains("a machine")
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
                        "openmpi@shm,2,4,1,1,1",
                        "horovod4j-heap@shm,2,4,0.5,0.5,0.5",
                        "horovod4j-heap@shm,2,64,0.5,0.5,0.5");

        assertThat(rows(results)).contains("64 B|–|0.50 µs [0.50..0.50]|–");
    }

    @Test
    void comparesTlsWithPlaintext() {
        List<Result> results =
                parse(
                        "horovod4j-native@tcp,2,4,2,2,2",
                        "horovod4j-native-tls@tcp,2,4,3,3,3",
                        "horovod4j-heap@tcp,2,4,2,2,2");

        assertThat(rows(results))
                .containsExactly(
                        "size|horovod4j-native|horovod4j-native-tls|horovod4j-heap|native-tls: time ÷ native",
                        "4 B|2.00 µs [2.00..2.00]|3.00 µs [3.00..3.00]|2.00 µs [2.00..2.00]|1.50 [1.50..1.50]");
    }

    private static List<Result> parse(String... lines) {
        return Stream.of(lines).map(Result::parse).toList();
    }

    /// The rows of all tables, without separators and padding.
    private static List<String> rows(List<Result> results) {
        return AllreduceReport.render(results, "")
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
