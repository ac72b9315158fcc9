package org.horovod4j.runtime.stall;

import org.horovod4j.runtime.message.Disagreement;
import org.horovod4j.runtime.stall.RankReport.Changes;
import org.horovod4j.runtime.stall.RankReport.OfSet;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.StateReport.Stall;

import java.util.ArrayList;
import java.util.List;

/// Something that this rank waits for and that needs other ranks' programs: what may stall.
sealed interface Wait {
    /// Tells it from all others, earlier ones of the same name included where they matter.
    String key();

    /// How long it has waited, as far as that is a reason to worry.
    long millis();

    /// Who has come to it and who has not.
    ///
    /// @param warnMillis how long nothing may happen
    Stall stall(StateReport state, long warnMillis);

    /// What has waited for how long, the beginning of a sentence that names the ranks.
    String story();

    /// The process set in which ranks are asked what they do instead.
    int processSet();

    /// All that a rank waits for.
    static List<Wait> of(RankReport own) {
        List<Wait> waits = new ArrayList<>();
        for (OfSet set : own.sets()) {
            set.pending().forEach(pending -> waits.add(new ForOperation(set, pending)));
            Pending join = set.join();
            if (join != null) {
                waits.add(new ForJoin(set, join));
            }
        }
        Pending change = own.changes().now();
        if (change != null) {
            waits.add(new ForChange(own.changes().begun(), change));
        }
        return waits;
    }

    /// One paragraph: who is missing, and what these do instead.
    default String explain(StateReport state, Stall stall) {
        StringBuilder text = new StringBuilder(story());
        text.append(
                " on %s, missing on %s"
                        .formatted(
                                Disagreement.name(stall.having()),
                                Disagreement.name(stall.lacking())));
        for (int rank : stall.lacking()) {
            text.append("\n  rank %d %s".formatted(rank, state.doing(rank, processSet())));
        }
        return text.toString();
    }

    /// An operation that some ranks have not submitted.
    record ForOperation(OfSet set, Pending pending) implements Wait {
        @Override
        public String key() {
            return "operation %d %s".formatted(set.id(), pending.name());
        }

        @Override
        public long millis() {
            return pending.millis();
        }

        @Override
        public Stall stall(StateReport state, long warnMillis) {
            return state.stall(set, pending.name());
        }

        @Override
        public String story() {
            return "%s has waited for %d s: submitted"
                    .formatted(pending.operation(), millis() / 1000);
        }

        @Override
        public int processSet() {
            return set.id();
        }
    }

    /// A join that some ranks have not called. They may train on for hours, in which this rank
    /// takes part: so it counts from the last operation on, and is no stall while one is in flight,
    /// or while any of those ranks gets on in another process set.
    record ForJoin(OfSet set, Pending join) implements Wait {
        /// Ranks end an operation, and say so, not quite at the same time.
        private static final long SLACK_MILLIS = 500;

        @Override
        public String key() {
            return "join %d %d".formatted(set.id(), set.progress().completed());
        }

        @Override
        public long millis() {
            return Math.min(join.millis(), set.progress().idleMillis());
        }

        @Override
        public Stall stall(StateReport state, long warnMillis) {
            return state.joinStall(set, warnMillis - Math.min(SLACK_MILLIS, warnMillis / 4));
        }

        @Override
        public String story() {
            return "join has waited for %d s, in which no rank did anything: called"
                    .formatted(millis() / 1000);
        }

        @Override
        public int processSet() {
            return set.id();
        }
    }

    /// The making or removing of process sets, which some ranks have not come to.
    ///
    /// @param number see [Changes#begun]
    record ForChange(long number, Pending pending) implements Wait {
        @Override
        public String key() {
            return "change " + number;
        }

        @Override
        public long millis() {
            return pending.millis();
        }

        @Override
        public Stall stall(StateReport state, long warnMillis) {
            return state.changeStall(number);
        }

        @Override
        public String story() {
            return "%s has waited for %d s: called".formatted(pending.operation(), millis() / 1000);
        }

        @Override
        public int processSet() {
            return 0;
        }
    }
}
