package org.horovod4j.benchmarks;

import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.benchmarks.report.Rounds;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.benchmarks.report.Units;

import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// All programs of one [Setting], size by size: what each took, how many times longer a peer took
/// than we did, and how many times longer we took with encryption than without.
final class Comparison {
    private static final String OURS = "horovod4j";
    private static final String ENCRYPTED = "-tls";

    private final Setting setting;
    private final List<Result> results;
    private final List<String> ours;
    private final List<String> peers;

    Comparison(Setting setting, List<Result> results) {
        this.setting = setting;
        this.results = List.copyOf(results);
        List<String> programs = results.stream().map(Result::program).distinct().toList();
        this.ours = programs.stream().filter(program -> program.startsWith(OURS)).toList();
        this.peers = programs.stream().filter(program -> !program.startsWith(OURS)).toList();
    }

    /// One comparison for each setting that occurs, in the order in which they were measured.
    static List<Comparison> of(List<Result> results) {
        return results.stream()
                .map(result -> new Setting(result.np(), result.transport()))
                .distinct()
                .map(setting -> new Comparison(setting, of(setting, results)))
                .toList();
    }

    private static List<Result> of(Setting setting, List<Result> results) {
        return results.stream()
                .filter(r -> r.np() == setting.np() && r.transport().equals(setting.transport()))
                .toList();
    }

    String toMarkdown() {
        List<String> heading = new ArrayList<>(List.of("size"));
        heading.addAll(peers);
        heading.addAll(ours);
        pairs().forEach(pair -> heading.add(pair.peer() + " ÷ " + kind(pair.own())));
        encrypted().forEach(pair -> heading.add(kind(pair.peer()) + " ÷ " + kind(pair.own())));
        Table table = new Table(heading);
        for (long byteSize : sizes()) {
            table.add(row(byteSize));
        }
        return "## %s\n\n%s".formatted(setting, table.toMarkdown());
    }

    private List<String> row(long byteSize) {
        List<String> cells = new ArrayList<>(List.of(Units.bytes(byteSize)));
        Stream.concat(peers.stream(), ours.stream())
                .map(program -> rounds(program, byteSize).time())
                .forEach(cells::add);
        Stream.concat(pairs(), encrypted())
                .map(pair -> rounds(pair.peer(), byteSize).ratioTo(rounds(pair.own(), byteSize)))
                .forEach(cells::add);
        return cells;
    }

    private Stream<Pair> pairs() {
        return peers.stream().flatMap(peer -> ours.stream().map(own -> new Pair(peer, own)));
    }

    /// Ours with encryption, each beside the same without.
    private Stream<Pair> encrypted() {
        return ours.stream()
                .filter(own -> ours.contains(own + ENCRYPTED))
                .map(own -> new Pair(own + ENCRYPTED, own));
    }

    private Rounds rounds(String program, long byteSize) {
        return Rounds.of(
                results.stream()
                        .filter(r -> r.program().equals(program) && r.byteSize() == byteSize));
    }

    private SortedSet<Long> sizes() {
        return results.stream()
                .map(Result::byteSize)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /// `heap` of `horovod4j-heap`: the column is narrow.
    private static String kind(String own) {
        return own.substring(own.indexOf('-') + 1);
    }

    private record Pair(String peer, String own) {}
}
