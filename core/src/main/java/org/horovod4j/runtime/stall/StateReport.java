package org.horovod4j.runtime.stall;

import org.horovod4j.runtime.message.Disagreement;
import org.horovod4j.runtime.stall.RankReport.OfSet;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.spi.ControlPlane;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/// What all ranks said when they were asked.
///
/// @param reports by rank; null where no answer came
public record StateReport(List<@Nullable RankReport> reports) {
    /// How many operations are named of each rank.
    private static final int SHOWN = 6;

    /// Asks all ranks.
    public static StateReport ask(ControlPlane control) {
        List<@Nullable RankReport> reports = new ArrayList<>();
        for (byte @Nullable [] answer : control.survey()) {
            reports.add(RankReport.decode(answer));
        }
        return new StateReport(reports);
    }

    /// Who has submitted an operation and who has not.
    ///
    /// @param name of its tensor
    /// @param having ranks that have it in flight, ascending
    /// @param lacking ranks that neither have it nor have joined, ascending
    public record Stall(String name, List<Integer> having, List<Integer> lacking) {
        public Stall {
            having = List.copyOf(having);
            lacking = List.copyOf(lacking);
        }
    }

    /// How things stand with an operation of a process set.
    public Stall stall(OfSet set, String name) {
        List<Integer> having = new ArrayList<>();
        List<Integer> lacking = new ArrayList<>();
        for (int rank : set.ranks()) {
            OfSet other = of(rank, set.id());
            if (other != null && other.has(name)) {
                having.add(rank);
            } else if (other == null || !other.joined()) {
                lacking.add(rank);
            }
        }
        return new Stall(name, having, lacking);
    }

    /// One paragraph on a stalled operation: who lacks it, and what these do instead.
    public String explain(OfSet set, Pending pending, Stall stall) {
        StringBuilder text = new StringBuilder();
        text.append(
                "%s has waited for %d s: submitted on %s, missing on %s"
                        .formatted(
                                pending.operation(),
                                pending.millis() / 1000,
                                Disagreement.name(stall.having()),
                                Disagreement.name(stall.lacking())));
        for (int rank : stall.lacking()) {
            text.append("\n  rank ").append(rank).append(' ').append(doing(rank, set.id()));
        }
        return text.toString();
    }

    /// Everything, for people.
    public String describe() {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < reports.size(); rank++) {
            RankReport report = reports.get(rank);
            text.append("rank ").append(rank).append("\n");
            if (report == null) {
                text.append("  gave no answer\n");
                continue;
            }
            for (OfSet set : report.sets()) {
                text.append(
                        "  process set %d, %s: %s%n"
                                .formatted(set.id(), set.doing(), inFlight(set)));
                for (Pending pending : set.pending()) {
                    Stall stall = stall(set, pending.name());
                    if (!stall.lacking().isEmpty()) {
                        text.append(
                                "    %s is missing on %s%n"
                                        .formatted(
                                                pending.operation(),
                                                Disagreement.name(stall.lacking())));
                    }
                }
            }
        }
        return text.toString();
    }

    private String doing(int rank, int processSet) {
        OfSet set = of(rank, processSet);
        return set == null ? "gave no answer" : inFlight(set);
    }

    private static String inFlight(OfSet set) {
        if (set.joined()) {
            return "has joined";
        }
        if (set.pending().isEmpty()) {
            return "has nothing in flight: its program is doing something else";
        }
        String named =
                set.pending().stream()
                        .limit(SHOWN)
                        .map(Pending::toString)
                        .collect(Collectors.joining(", "));
        int more = set.pending().size() + set.more() - SHOWN;
        return "has in flight " + named + (more > 0 ? " and %d more".formatted(more) : "");
    }

    private @Nullable OfSet of(int rank, int processSet) {
        RankReport report = reports.get(rank);
        return report == null ? null : report.set(processSet);
    }
}
