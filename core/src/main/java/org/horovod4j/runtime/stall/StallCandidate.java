package org.horovod4j.runtime.stall;

import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.ProcessSetChanges;
import org.horovod4j.runtime.stall.RankReport.ProcessSetReport;
import org.horovod4j.runtime.stall.StateReport.Stall;
import org.horovod4j.text.RankList;

import java.util.ArrayList;
import java.util.List;

/// Something that this rank waits for and that needs other ranks' programs: what may stall.
sealed interface StallCandidate {
    /// Tells it from all others, earlier ones of the same name included where they matter.
    String key();

    /// How long it has waited, as far as that is a reason to worry.
    long millis();

    /// Who has come to it and who has not.
    ///
    /// @param warnMillis how long nothing may happen
    Stall stall(StateReport state, long warnMillis);

    /// What has waited for how long, the beginning of a sentence that names the ranks.
    String summary();

    /// The process set in which ranks are asked what they do instead.
    int processSet();

    /// All that a rank waits for.
    static List<StallCandidate> of(RankReport own) {
        List<StallCandidate> waits = new ArrayList<>();
        for (ProcessSetReport set : own.sets()) {
            set.pending().forEach(pending -> waits.add(new OperationWait(set, pending)));
            Pending join = set.join();
            if (join != null) {
                waits.add(new JoinWait(set, join));
            }
        }
        Pending change = own.processSetChanges().pending();
        if (change != null) {
            waits.add(new ProcessSetChangeWait(own.processSetChanges().started(), change));
        }
        return waits;
    }

    /// One paragraph: who is missing, and what these do instead.
    default String explain(StateReport state, Stall stall) {
        StringBuilder text = new StringBuilder(summary());
        text.append(
                " on %s, missing on %s"
                        .formatted(
                                RankList.format(stall.arrived()),
                                RankList.format(stall.missing())));
        for (int rank : stall.missing()) {
            text.append(
                    "\n  rank %d %s".formatted(rank, state.describeActivity(rank, processSet())));
        }
        return text.toString();
    }

    /// An operation that some ranks have not submitted.
    record OperationWait(ProcessSetReport set, Pending pending) implements StallCandidate {
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
        public String summary() {
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
    record JoinWait(ProcessSetReport set, Pending join) implements StallCandidate {
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
        public String summary() {
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
    /// @param number see [ProcessSetChanges#started]
    record ProcessSetChangeWait(long number, Pending pending) implements StallCandidate {
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
        public String summary() {
            return "%s has waited for %d s: called".formatted(pending.operation(), millis() / 1000);
        }

        @Override
        public int processSet() {
            return 0;
        }
    }
}
