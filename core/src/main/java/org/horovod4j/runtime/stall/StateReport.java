package org.horovod4j.runtime.stall;

import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.ProcessSetReport;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.text.RankList;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/// The state of all ranks.
///
/// @param reports by rank; null for a rank that did not answer
public record StateReport(List<@Nullable RankReport> reports) {
    /// The number of operations shown per rank.
    private static final int MAX_SHOWN = 6;

    /// Requests the state of all ranks.
    public static StateReport collect(ControlPlane control) {
        List<@Nullable RankReport> reports = new ArrayList<>();
        for (byte @Nullable [] answer : control.survey()) {
            reports.add(RankReport.decode(answer));
        }
        return new StateReport(reports);
    }

    /// Which ranks wait in something, and which are missing.
    ///
    /// @param arrived ranks that wait in it, ascending
    /// @param missing ranks that it waits for, ascending; empty if it is not a stall
    public record Stall(List<Integer> arrived, List<Integer> missing) {
        public Stall {
            arrived = List.copyOf(arrived);
            missing = List.copyOf(missing);
        }
    }

    /// Finds the missing ranks of an operation. A rank that has joined is never missing.
    public Stall stall(ProcessSetReport set, String name) {
        List<Integer> having = new ArrayList<>();
        List<Integer> lacking = new ArrayList<>();
        for (int rank : set.ranks()) {
            ProcessSetReport other = of(rank, set.id());
            if (other != null && other.has(name)) {
                having.add(rank);
            } else if (other == null || !other.joined()) {
                lacking.add(rank);
            }
        }
        return new Stall(having, lacking);
    }

    /// Finds the missing ranks of a join. Ranks that have not joined count as missing only if all
    /// of them have been idle for this time: a rank with an operation in flight makes progress, or
    /// has a stall of its own.
    Stall joinStall(ProcessSetReport set, long idleMillis) {
        List<Integer> having = new ArrayList<>();
        List<Integer> lacking = new ArrayList<>();
        boolean idle = true;
        for (int rank : set.ranks()) {
            ProcessSetReport other = of(rank, set.id());
            if (other != null && other.joined()) {
                having.add(rank);
            } else {
                lacking.add(rank);
                idle &= isIdle(reports.get(rank), other, idleMillis);
            }
        }
        return new Stall(having, idle ? lacking : List.of());
    }

    private static boolean isIdle(
            @Nullable RankReport report, @Nullable ProcessSetReport set, long idleMillis) {
        return report == null
                || ((set == null || set.pending().isEmpty()) && report.idleMillis() >= idleMillis);
    }

    /// Finds the missing ranks of a change of process sets.
    ///
    /// @param number the number of this change, counted from 1
    Stall changeStall(long number) {
        List<Integer> having = new ArrayList<>();
        List<Integer> lacking = new ArrayList<>();
        for (int rank = 0; rank < reports.size(); rank++) {
            RankReport report = reports.get(rank);
            if (report == null || report.processSetChanges().started() < number) {
                lacking.add(rank);
            } else if (report.processSetChanges().started() == number
                    && report.processSetChanges().pending() != null) {
                having.add(rank);
            }
        }
        return new Stall(having, lacking);
    }

    /// The whole report as text.
    public String describe() {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < reports.size(); rank++) {
            RankReport report = reports.get(rank);
            text.append("rank ").append(rank).append("\n");
            if (report == null) {
                text.append("  gave no answer\n");
                continue;
            }
            Pending change = report.processSetChanges().pending();
            if (change != null) {
                text.append("  is ")
                        .append(change)
                        .append(missing(changeStall(report)))
                        .append("\n");
            }
            report.sets().forEach(set -> describe(set, text));
        }
        return text.toString();
    }

    private Stall changeStall(RankReport report) {
        return changeStall(report.processSetChanges().started());
    }

    private static String missing(Stall stall) {
        return stall.missing().isEmpty() ? "" : ", missing on " + RankList.format(stall.missing());
    }

    private void describe(ProcessSetReport set, StringBuilder text) {
        text.append(
                "  process set %d, %s: %s%n".formatted(set.id(), set.activity(), inFlight(set)));
        for (Pending pending : set.pending()) {
            Stall stall = stall(set, pending.name());
            if (!stall.missing().isEmpty()) {
                text.append(
                        "    %s is missing on %s%n"
                                .formatted(pending.operation(), RankList.format(stall.missing())));
            }
        }
        text.append("    ").append(set.statistics()).append("\n");
    }

    /// What a missing rank does instead.
    ///
    /// @param processSet in which it is missing, and whose operations are shown first
    String describeActivity(int rank, int processSet) {
        RankReport report = reports.get(rank);
        if (report == null) {
            return "gave no answer";
        }
        Pending change = report.processSetChanges().pending();
        if (change != null) {
            return "is " + change;
        }
        ProcessSetReport missed = report.set(processSet);
        if (missed != null && isBusy(missed)) {
            return inFlight(missed);
        }
        return report.sets().stream()
                .filter(StateReport::isBusy)
                .findFirst()
                .map(set -> "%s, in process set %d".formatted(inFlight(set), set.id()))
                .orElse("has nothing in flight: its program is doing something else");
    }

    /// Where the threads of a rank's program are, in lines; empty if that is unknown.
    String describeThreads(int rank) {
        RankReport report = reports.get(rank);
        StringBuilder text = new StringBuilder();
        if (report != null) {
            report.threads().forEach(thread -> text.append(thread.describe("    ")));
        }
        return text.toString();
    }

    private static boolean isBusy(ProcessSetReport set) {
        return set.joined() || !set.pending().isEmpty();
    }

    private static String inFlight(ProcessSetReport set) {
        Pending join = set.join();
        if (join != null) {
            return (join.isJoin() ? "has joined (%.1f s)" : "has called failStep (%.1f s)")
                    .formatted(join.millis() / 1000.0);
        }
        if (set.pending().isEmpty()) {
            return "has nothing in flight: its program is doing something else";
        }
        String named =
                set.pending().stream()
                        .limit(MAX_SHOWN)
                        .map(Pending::toString)
                        .collect(Collectors.joining(", "));
        int more = set.pending().size() + set.omitted() - MAX_SHOWN;
        return "has in flight " + named + (more > 0 ? " and %d more".formatted(more) : "");
    }

    private @Nullable ProcessSetReport of(int rank, int processSet) {
        RankReport report = reports.get(rank);
        return report == null ? null : report.set(processSet);
    }
}
