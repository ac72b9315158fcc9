package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;
import org.junit.jupiter.api.Test;

import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

class RuntimeReportTest {
    /// Half a nanosecond.
    private static final Percentiles CHECK_NANOS = new Percentiles(0.5, 0.5, 0.5);

    @Test
    void dividesEachVariantByItsBaseline() {
        assertThat(
                        rows(
                                "openmpi@shm,2,102228128,1,1,60000,1,1",
                                "flat-native@shm,2,102228128,1,1,20000,1,1",
                                "async-native@shm,2,102228128,1,1,22000,1,1",
                                "async-native+timeline@shm,2,102228128,1,1,33000,1,1"))
                .containsExactly(
                        "np|work|program|time|speedup over openmpi|time ÷ flat|time ÷ plain|time ÷ np 2",
                        row("2", "openmpi", "60.0 ms [60.0..60.0]", "–", "–", "–", "–"),
                        row("2", "flat-native", "20.0 ms [20.0..20.0]", same(3), "–", "–", "–"),
                        row(
                                "2",
                                "async-native",
                                "22.0 ms [22.0..22.0]",
                                "2.73 [2.73..2.73]",
                                "1.10 [1.10..1.10]",
                                "–",
                                "–"),
                        row(
                                "2",
                                "async-native+timeline",
                                "33.0 ms [33.0..33.0]",
                                "1.82 [1.82..1.82]",
                                "1.65 [1.65..1.65]",
                                same(1.5),
                                "–"));
    }

    @Test
    void dividesAJobWithASettingByItsBaselineJob() {
        // The baseline turns of another job are not used.
        assertThat(
                        rows(
                                "flat-native@shm,2,102228128,1,1,5000,1,1",
                                "async-native@shm,2,102228128,1,1,10000,1,1",
                                "async-native+without-unlocked@shm,2,102228128,1,1,20000,1,1",
                                "async-native+unlocked@shm,2,102228128,1,1,30000,1,1"))
                .contains(
                        row(
                                "2",
                                "async-native+without-unlocked",
                                "20.0 ms [20.0..20.0]",
                                missing(3)),
                        row(
                                "2",
                                "async-native+unlocked",
                                "30.0 ms [30.0..30.0]",
                                "–",
                                same(1.5),
                                "–"));
    }

    @Test
    void comparesTheJobsOfARoundAndTheTurnsOfAJob() {
        // Open MPI's round 2 failed. In round 1, turns of one job are paired, jobs by their median.
        assertThat(
                        rows(
                                "openmpi@shm,2,102228128,1,1,10000,1,1",
                                "openmpi@shm,2,102228128,1,2,90000,1,1",
                                "openmpi@shm,2,102228128,1,3,20000,1,1",
                                "flat-native@shm,2,102228128,1,1,10000,1,1",
                                "async-native@shm,2,102228128,1,1,20000,1,1",
                                "async-native@shm,2,102228128,1,2,10000,1,1",
                                "flat-native@shm,2,102228128,1,2,5000,1,1",
                                "async-native@shm,2,102228128,1,3,10000,1,1",
                                "async-native@shm,2,102228128,2,1,10000,1,1"))
                .contains(
                        row(
                                "2",
                                "async-native",
                                "10.0 ms [10.0..17.0]",
                                same(2) + " (1 dropped)",
                                same(2) + " (2 dropped)",
                                "–",
                                "–"));
    }

    @Test
    void nodesOfAGraphAreComparedWithNodesThatDoNothing() {
        assertThat(
                        rows(
                                "flat-native@shm,2,1024000,1,1,1000,1,1",
                                "graph-native@shm,2,1024000,1,1,15000,1,1",
                                "noop-native@shm,2,1024000,1,1,3000,1,1"))
                .contains(
                        "2|1000 tensors of 1 KiB|graph-native|15.0 ms [15.0..15.0]|15.0 [15.0..15.0]|–|–",
                        "2|1000 tensors of 1 KiB|1000|3.00 ms [3.00..3.00]|15.0 ms [15.0..15.0]|12.0 µs [12.0..12.0]")
                .noneMatch(row -> row.contains("noop"));
    }

    @Test
    void glooIsComparedTurnByTurn() {
        assertThat(
                        rows(
                                "async-native@shm,2,102228128,1,1,10000,1,1",
                                "gloo-native@shm,2,102228128,1,1,50000,1,1",
                                "glooflat-native@shm,2,102228128,1,1,30000,1,1",
                                "async-native+tcp@tcp,2,102228128,1,1,20000,1,1",
                                "gloo-native+tcp@tcp,2,102228128,1,1,50000,1,1"))
                .contains(
                        row(
                                "2",
                                "async-native",
                                "10.0 ms [10.0..10.0]",
                                "50.0 ms [50.0..50.0]",
                                "30.0 ms [30.0..30.0]",
                                same(5),
                                same(3)),
                        row(
                                "2",
                                "async-native+tcp",
                                "20.0 ms [20.0..20.0]",
                                "50.0 ms [50.0..50.0]",
                                "–",
                                same(2.5),
                                "–"))
                .noneMatch(row -> row.contains("gloo"));
    }

    @Test
    void otherProgramsHaveRowsAndColumnsInAFixedOrder() {
        assertThat(
                        rows(
                                "async-native@shm,2,102228128,1,1,20000,1,1",
                                "horovod-gloo@tcp,2,102228128,1,1,90000,1,1",
                                "horovod-mpi@shm,2,102228128,1,1,80000,1,1",
                                "openmpi@shm,2,102228128,1,1,60000,1,1"))
                .containsExactly(
                        "np|work|program|time|speedup over openmpi|speedup over horovod-mpi"
                                + "|speedup over horovod-gloo|time ÷ flat|time ÷ plain|time ÷ np 2",
                        row("2", "openmpi", "60.0 ms [60.0..60.0]", missing(6)),
                        row("2", "horovod-mpi", "80.0 ms [80.0..80.0]", missing(6)),
                        row("2", "horovod-gloo", "90.0 ms [90.0..90.0]", missing(6)),
                        row(
                                "2",
                                "async-native",
                                "20.0 ms [20.0..20.0]",
                                same(3),
                                same(4),
                                same(4.5),
                                missing(3)));
    }

    @Test
    void rowsHaveAFixedOrder() {
        assertThat(
                        rows(
                                "async-native+unlocked@shm,2,102228128,1,1,1,1,1",
                                "async-native+without-unlocked@shm,2,102228128,1,1,1,1,1",
                                "async-heap@shm,2,102228128,1,1,1,1,1",
                                "flat-native@shm,2,102228128,1,1,1,1,1",
                                "horovod-gloo@tcp,2,102228128,1,1,1,1,1",
                                "openmpi@shm,2,102228128,1,1,1,1,1"))
                .extracting(row -> row.split("\\|", -1)[2])
                .containsExactly(
                        "program",
                        "openmpi",
                        "horovod-gloo",
                        "flat-native",
                        "async-heap",
                        "async-native+without-unlocked",
                        "async-native+unlocked");
    }

    @Test
    void dividesSlicedByFlatSharedMemory() {
        assertThat(
                        rows(
                                "flat-shared@shm,2,102228128,1,1,8000,1,1",
                                "async-sliced@shm,2,102228128,1,1,10000,1,1"))
                .contains(
                        row(
                                "2",
                                "async-sliced",
                                "10.0 ms [10.0..10.0]",
                                "1.25 [1.25..1.25]",
                                "–",
                                "–"));
    }

    @Test
    void comparesProcessCountsRoundByRoundAndSortsByThem() {
        // The second round was three times as slow for both, so the ratio stays at 2.
        assertThat(
                        rows(
                                "async-native@shm,2,102228128,1,1,1000,1,1",
                                "async-native@shm,4,102228128,1,1,2000,1,1",
                                "async-native@shm,2,102228128,2,1,3000,1,1",
                                "async-native@shm,4,102228128,2,1,6000,1,1"))
                .containsExactly(
                        "np|work|program|time|time ÷ flat|time ÷ plain|time ÷ np 2",
                        row("2", "async-native", "2.00 ms [1.20..2.80]", missing(3)),
                        row("4", "async-native", "4.00 ms [2.40..5.60]", "–", "–", same(2)));
    }

    @Test
    void reportsTheHiddenShareOfCommunication() {
        // 100 ms and 20 ms take 105 ms together, so 15 of the 20 ms are hidden.
        assertThat(
                        rows(
                                "compute-native@shm,2,102228128,1,1,100000,1,1",
                                "communicate-native@shm,2,102228128,1,1,20000,1,1",
                                "overlap-native@shm,2,102228128,1,1,105000,1,1"))
                .contains(
                        "2|overlap-native|100 ms [100..100]|20.0 ms [20.0..20.0]"
                                + "|105 ms [105..105]|1.05 [1.05..1.05]|0.75 [0.75..0.75]")
                .noneMatch(row -> row.contains("ResNet-50"));
    }

    @Test
    void omitsOverlapIfNotMeasured() {
        assertThat(
                        RuntimeReport.render(
                                List.of(Result.parse("flat-native@shm,2,4,1,1,1,1,1")),
                                "a machine",
                                CHECK_NANOS))
                .contains("a machine", "one tensor of 4 B")
                .doesNotContain("hidden");
    }

    @Test
    void reportsTheCostOfADisabledTimeline() {
        assertThat(
                        RuntimeReport.render(
                                List.of(Result.parse("flat-native@shm,2,4,1,1,1,1,1")),
                                "",
                                CHECK_NANOS))
                .contains("takes 0.50 ns")
                .containsPattern("161 tensors, 97.5 MiB \\| +322 \\| 0.16 µs")
                .containsPattern("1000 tensors of 1 KiB \\| +2000 \\| 1.00 µs");
        assertThat(DisabledTimelineCost.measure().median()).isPositive();
    }

    @Test
    void emptyResultsAreRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RuntimeReport.render(List.of(), "", CHECK_NANOS))
                .withMessageContaining("no results");
    }

    private static String row(String np, String... cells) {
        return np + "|" + Workload.RESNET.title() + "|" + String.join("|", cells);
    }

    private static String missing(int cells) {
        return String.join("|", Collections.nCopies(cells, "–"));
    }

    private static String same(double ratio) {
        return String.format(Locale.ROOT, "%1$.2f [%1$.2f..%1$.2f]", ratio);
    }

    /// The rows of all tables, without separators and padding.
    private static List<String> rows(String... lines) {
        String report =
                RuntimeReport.render(Stream.of(lines).map(Result::parse).toList(), "", CHECK_NANOS);
        return report.substring(0, report.indexOf("## A timeline that is off"))
                .lines()
                .filter(line -> line.startsWith("| "))
                .map(line -> line.substring(1, line.length() - 1).strip())
                .map(line -> line.replaceAll(" *\\| *", "|"))
                .toList();
    }
}
