package org.horovod4j.benchmarks;

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
/// Horovod4J over other libraries, and the slowdown by encryption.
final class ComparisonTable {
    private static final String OUR_PREFIX = "horovod4j";
    private static final String TLS_SUFFIX = "-tls";

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
        List<String> programs = results.stream().map(Result::program).distinct().toList();
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
        tlsPairs()
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
        Stream.concat(pairs(), tlsPairs())
                .map(
                        pair ->
                                rounds(pair.numerator(), byteSize)
                                        .ratioCell(rounds(pair.denominator(), byteSize)))
                .forEach(cells::add);
        return cells;
    }

    private Stream<Pair> pairs() {
        return otherPrograms.stream()
                .flatMap(other -> ourPrograms.stream().map(own -> new Pair(other, own)));
    }

    /// Horovod4J with encryption, each paired with the same without encryption.
    private Stream<Pair> tlsPairs() {
        return ourPrograms.stream()
                .filter(own -> ourPrograms.contains(own + TLS_SUFFIX))
                .map(own -> new Pair(own + TLS_SUFFIX, own));
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
    private static String shortName(String own) {
        return own.substring(own.indexOf('-') + 1);
    }

    private record Pair(String numerator, String denominator) {}
}
