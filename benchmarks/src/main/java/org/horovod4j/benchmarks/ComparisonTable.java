package org.horovod4j.benchmarks;

import org.horovod4j.benchmarks.report.LogLogPlot;
import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.benchmarks.report.Units;

import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Compares all programs of one setup for each size: their times, the speedup of
/// Horovod4J over other libraries, and the slowdown by encryption and by a metric.
final class ComparisonTable {
    private static final String OUR_PREFIX = "horovod4j-";
    private static final String TLS_SUFFIX = "-tls";
    private static final String METRIC_SUFFIX = "-metric";

    private final Setup setup;
    private final List<Result> results;
    private final List<String> ourPrograms;
    private final List<String> otherPrograms;

    /// The conditions under which programs are comparable. Each setup has its own table.
    record Setup(int np, String transport) {
        @Override
        public String toString() {
            return "%d processes over %s"
                    .formatted(np, transport.equals("shm") ? "shared memory" : transport);
        }
    }

    ComparisonTable(Setup setup, List<Result> results) {
        this.setup = setup;
        this.results = List.copyOf(results);
        // Sorted, because the order of measurement is random.
        List<String> programs = results.stream().map(Result::program).distinct().sorted().toList();
        this.ourPrograms =
                programs.stream().filter(program -> program.startsWith(OUR_PREFIX)).toList();
        this.otherPrograms =
                programs.stream().filter(program -> !program.startsWith(OUR_PREFIX)).toList();
    }

    /// One table for each setup, in the order of measurement.
    static List<ComparisonTable> of(List<Result> results) {
        return results.stream()
                .map(result -> new Setup(result.np(), result.transport()))
                .distinct()
                .map(setup -> new ComparisonTable(setup, of(setup, results)))
                .toList();
    }

    private static List<Result> of(Setup setup, List<Result> results) {
        return results.stream()
                .filter(r -> r.np() == setup.np() && r.transport().equals(setup.transport()))
                .toList();
    }

    String toMarkdown() {
        List<String> heading = new ArrayList<>(List.of("size"));
        heading.addAll(otherPrograms);
        heading.addAll(ourPrograms);
        pairs().forEach(
                        pair ->
                                heading.add(
                                        shortName(pair.denominator())
                                                + ": speedup over "
                                                + pair.numerator()));
        slowdowns()
                .forEach(
                        pair ->
                                heading.add(
                                        shortName(pair.numerator())
                                                + ": time ÷ "
                                                + shortName(pair.denominator())));
        Table table = new Table(heading);
        for (long byteSize : sizes()) {
            table.add(row(byteSize));
        }
        return "## %s\n\n%s".formatted(setup, table.toMarkdown());
    }

    private List<String> row(long byteSize) {
        List<String> cells = new ArrayList<>(List.of(Units.bytes(byteSize)));
        Stream.concat(otherPrograms.stream(), ourPrograms.stream())
                .map(program -> rounds(program, byteSize).timeCell())
                .forEach(cells::add);
        Stream.concat(pairs(), slowdowns())
                .map(
                        pair ->
                                rounds(pair.numerator(), byteSize)
                                        .ratioCell(rounds(pair.denominator(), byteSize)))
                .forEach(cells::add);
        return cells;
    }

    private Stream<Pair> pairs() {
        return otherPrograms.stream()
                .flatMap(
                        other ->
                                ourPrograms.stream()
                                        .filter(own -> isWithMetric(own) == isWithMetric(other))
                                        .map(own -> new Pair(other, own)));
    }

    private static boolean isWithMetric(String program) {
        return program.endsWith(METRIC_SUFFIX);
    }

    /// A program with encryption or a metric, each paired with the same program without it.
    private Stream<Pair> slowdowns() {
        return Stream.of(TLS_SUFFIX, METRIC_SUFFIX)
                .flatMap(
                        suffix ->
                                Stream.concat(otherPrograms.stream(), ourPrograms.stream())
                                        .filter(program -> isMeasured(program + suffix))
                                        .map(program -> new Pair(program + suffix, program)));
    }

    private boolean isMeasured(String program) {
        return ourPrograms.contains(program) || otherPrograms.contains(program);
    }

    /// The times of all programs over the sizes, other libraries dashed.
    LogLogPlot.Panel toPanel() {
        return new LogLogPlot.Panel(
                setup.toString(),
                Stream.concat(ourPrograms.stream(), otherPrograms.stream())
                        .map(
                                program ->
                                        new LogLogPlot.Line(
                                                program,
                                                otherPrograms.contains(program),
                                                points(program)))
                        .toList());
    }

    private List<LogLogPlot.Point> points(String program) {
        List<LogLogPlot.Point> points = new ArrayList<>();
        for (long byteSize : sizes()) {
            rounds(program, byteSize)
                    .median()
                    .ifPresent(micros -> points.add(new LogLogPlot.Point(byteSize, micros)));
        }
        return points;
    }

    private RoundTimes rounds(String program, long byteSize) {
        return RoundTimes.of(
                results.stream()
                        .filter(r -> r.program().equals(program) && r.byteSize() == byteSize));
    }

    private SortedSet<Long> sizes() {
        return results.stream()
                .map(Result::byteSize)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /// `heap` for `horovod4j-heap`, because the column is narrow.
    private static String shortName(String program) {
        return program.startsWith(OUR_PREFIX) ? program.substring(OUR_PREFIX.length()) : program;
    }

    private record Pair(String numerator, String denominator) {}
}
