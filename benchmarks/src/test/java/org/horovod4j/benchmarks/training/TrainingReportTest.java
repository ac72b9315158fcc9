package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.benchmarks.report.Result;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

class TrainingReportTest {
    @Test
    void efficiencyIsRelativeToOneAndToIndependentProcesses() {
        // Two independent processes take 100 ms instead of 80, and 125 ms with communication.
        assertThat(
                        rows(
                                "independent-native@shm,1,4,1,1,80000,1,1",
                                "independent-native@shm,2,4,1,1,100000,1,1",
                                "barrier-native@shm,2,4,1,1,110000,1,1",
                                "overlap-native@shm,2,4,1,1,125000,1,1"))
                .startsWith(
                        "work|np|mode|step|a second|rate ÷ one|rate ÷ independent|rate ÷ barrier",
                        "native|1|independent|80.0 ms [80.0..80.0]|12.5 [12.5..12.5] steps|–|–|–",
                        "native|2|independent|100 ms [100..100]|10.0 [10.0..10.0] steps|"
                                + same(0.8)
                                + "|–|–",
                        "native|2|barrier|110 ms [110..110]|9.09 [9.09..9.09] steps|"
                                + same(0.73)
                                + "|"
                                + same(0.91)
                                + "|–",
                        "native|2|overlap|125 ms [125..125]|"
                                + same(8)
                                + " steps|"
                                + same(0.64)
                                + "|"
                                + same(0.8)
                                + "|"
                                + same(0.88));
    }

    @Test
    void rateCountsTheImagesOfAllRanks() {
        assertThat(rows("overlap-mnist*64@shm,2,4,1,1,1000000,1,1"))
                .contains("mnist|2|overlap|1000 ms [1000..1000]|128 [128..128] images|–|–|–");
    }

    @Test
    void ratiosAreTakenRoundByRound() {
        // The second round was three times as slow for both, so the efficiency stays at 0.5.
        assertThat(
                        rows(
                                "independent-native@shm,1,4,1,1,1000,1,1",
                                "overlap-native@shm,2,4,1,1,2000,1,1",
                                "independent-native@shm,1,4,2,1,3000,1,1",
                                "overlap-native@shm,2,4,2,1,6000,1,1"))
                .anyMatch(
                        row ->
                                row.startsWith("native|2|overlap|4.00 ms [2.40..5.60]|")
                                        && row.endsWith("|" + same(0.5) + "|–|–"));
    }

    @Test
    void eachJobIsRelativeToTheProcessAloneInItsOwnRounds() {
        // The machine was twice as slow for the job of four ranks, in round 2.
        assertThat(
                        rows(
                                "independent-mnist*64@shm,1,4,1,1,1000,1,1",
                                "overlap-mnist*64@shm,2,4,1,1,1000,1,1",
                                "independent-mnist*64@shm,1,4,2,1,2000,1,1",
                                "overlap-mnist*64@shm,4,4,2,1,4000,1,1"))
                .anyMatch(
                        row ->
                                row.startsWith("mnist|2|overlap|")
                                        && row.endsWith("|" + same(1) + "|–|–"))
                .anyMatch(
                        row ->
                                row.startsWith("mnist|4|overlap|")
                                        && row.endsWith("|" + same(0.5) + "|–|–"));
    }

    @Test
    void reportsHiddenTimeAndStepTimeGainSeparately() {
        // The wait is 20 ms without overlap and 5 ms with it, but the step is only 10 ms shorter.
        assertThat(
                        rows(
                                "allreduce-native+waited@shm,2,4,1,1,16000,1,1",
                                "overlap-native@shm,2,4,1,1,110000,1,1",
                                "overlap-native+waited@shm,2,4,1,1,5000,1,1",
                                "sequential-native@shm,2,4,1,1,120000,1,1",
                                "sequential-native+waited@shm,2,4,1,1,20000,1,1"))
                .endsWith(
                        "native|2|16.0 ms [16.0..16.0]|20.0 ms [20.0..20.0]|5.00 ms [5.00..5.00]"
                                + "|15.0 ms [15.0..15.0]|"
                                + same(0.75)
                                + "|10.0 ms [10.0..10.0]");
    }

    @Test
    void lossIsReportedAsNegativeGain() {
        assertThat(
                        rows(
                                "overlap-native@shm,2,4,1,1,120000,1,1",
                                "sequential-native@shm,2,4,1,1,110000,1,1"))
                .endsWith("native|2|–|–|–|–|–|-10.0 ms [-10.0..-10.0]");
    }

    @Test
    void omitsOverlapIfNotMeasured() {
        assertThat(
                        TrainingReport.render(
                                List.of(Result.parse("overlap-native@shm,1,4,1,1,1,1,1")),
                                "a machine",
                                List.of()))
                .contains("a machine", "native")
                .doesNotContain("What overlap hides", "What the optimizer chose");
    }

    @Test
    void defaultModeHasItsOwnRow() {
        assertThat(
                        rows(
                                "independent-mnist*64@shm,1,4,1,1,80000,1,1",
                                "default-mnist*64@shm,2,4,1,1,100000,1,1",
                                "sequential-mnist*64@shm,2,4,1,1,160000,1,1"))
                .satisfiesExactly(
                        head -> assertThat(head).startsWith("work|"),
                        one -> assertThat(one).startsWith("mnist|1|independent|"),
                        end ->
                                assertThat(end)
                                        .startsWith("mnist|2|sequential|")
                                        .contains(same(0.5)),
                        row -> assertThat(row).startsWith("mnist|2|default|").contains(same(0.8)));
    }

    @Test
    void reportsTheOptimizersChoice() {
        List<Result> results = List.of(Result.parse("default-mnist*64@shm,2,4,1,1,100000,1,1"));
        assertThat(
                        TrainingReport.render(
                                results, "", List.of("mnist: `end`", "mnist: `end`", "other")))
                .endsWith(
                        """

                        What the optimizer chose by default:

                        - mnist: `end`
                        - other
                        """);
    }

    @Test
    void readsNotesWrittenNextToTheResults(@TempDir Path folder) throws IOException {
        Path results = folder.resolve("results.csv");
        assertThat(ReportNotes.readAll(results)).isEmpty();
        ReportNotes.append(results, "one");
        ReportNotes.append(results, "two");
        assertThat(ReportNotes.readAll(results)).containsExactly("one", "two");
        Files.writeString(results, "default-mnist*64@shm,2,4,1,1,100000,1,1\n");
        Path markdown = folder.resolve("results.md");
        TrainingReport.main(new String[] {results.toString(), markdown.toString()});
        assertThat(markdown).content().contains("- one\n- two\n");
    }

    @Test
    void emptyResultsAreRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TrainingReport.render(List.of(), "", List.of()))
                .withMessageContaining("no results");
    }

    private static String same(double ratio) {
        return String.format(Locale.ROOT, "%1$.2f [%1$.2f..%1$.2f]", ratio);
    }

    /// The rows of all tables, without separators and padding.
    private static List<String> rows(String... lines) {
        return TrainingReport.render(Stream.of(lines).map(Result::parse).toList(), "", List.of())
                .lines()
                .filter(line -> line.startsWith("| "))
                .map(line -> line.substring(1, line.length() - 1).strip())
                .map(line -> line.replaceAll(" *\\| *", "|"))
                .toList();
    }
}
