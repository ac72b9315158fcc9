package org.horovod4j.runtime.stall;

import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.ProcessSetChanges;
import org.horovod4j.runtime.stall.RankReport.ProcessSetReport;
import org.horovod4j.runtime.stall.StateReport.Stall;
import org.horovod4j.text.RankList;

import java.util.ArrayList;
import java.util.List;

/// Something that this rank waits for and that needs the programs of other ranks: it may stall.
sealed interface StallCandidate {
    /// Missing ranks usually hang at the same place.
    int MAX_RANKS_WITH_THREADS = 4;

    /// Identifies this wait among all others.
    String key();

    /// How long it has waited, as far as that indicates a stall.
    long millis();

    /// Which ranks wait in it and which are missing.
    ///
    /// @param warnMillis the time without progress that counts as a stall
    Stall stall(StateReport state, long warnMillis);

    /// What has waited and for how long: the beginning of a sentence that names the ranks.
    String summary();

    /// The process set whose activity of the missing ranks is shown first.
    int processSet();

    /// All waits of a rank.
    static List<StallCandidate> of(RankReport own) {
        List<StallCandidate> waits = new ArrayList<>();
        for (ProcessSetReport set : own.sets()) {
            set.pending().forEach(pending -> waits.add(new OperationWait(set, pending)));
            Pending join = set.join();
            if (join != null) {
                waits.add(join.isJoin() ? new JoinWait(set, join) : new FailedStepWait(set, join));
            }
        }
        Pending change = own.processSetChanges().pending();
        if (change != null) {
            waits.add(new ProcessSetChangeWait(own.processSetChanges().started(), change));
        }
        return waits;
    }

    /// One paragraph: which ranks are missing, and what they do instead.
    default String explain(StateReport state, Stall stall) {
        StringBuilder text = new StringBuilder(summary());
        text.append(
                " on %s, missing on %s"
                        .formatted(
                                RankList.format(stall.arrived()),
                                RankList.format(stall.missing())));
        int shown = 0;
        for (int rank : stall.missing()) {
            text.append(
                    "\n  rank %d %s".formatted(rank, state.describeActivity(rank, processSet())));
            text.append(shown++ < MAX_RANKS_WITH_THREADS ? state.describeThreads(rank) : "");
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

    /// A join that some ranks have not called. They may train for hours, and this rank takes part in that.
    /// So the wait counts from the last batch, and is not a stall while an operation is in flight or
    /// while a missing rank makes progress in another process set.
    record JoinWait(ProcessSetReport set, Pending join) implements StallCandidate {
        /// Ranks complete a batch, and report it, at slightly different times.
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
            return "%s has waited for %d s, in which no rank did anything: called"
                    .formatted(join.operation(), millis() / 1000);
        }

        @Override
        public int processSet() {
            return set.id();
        }
    }

    /// The end of a failed step that some ranks have not called. Their operations fail meanwhile, so they
    /// have to call it soon.
    record FailedStepWait(ProcessSetReport set, Pending failStep) implements StallCandidate {
        @Override
        public String key() {
            return "failed step %d %d".formatted(set.id(), set.progress().completed());
        }

        @Override
        public long millis() {
            return failStep.millis();
        }

        @Override
        public Stall stall(StateReport state, long warnMillis) {
            return state.joinStall(set, 0);
        }

        @Override
        public String summary() {
            return "a failed step has not ended for %d s: failStep called"
                    .formatted(millis() / 1000);
        }

        @Override
        public int processSet() {
            return set.id();
        }
    }

    /// A change of process sets that some ranks have not called.
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
