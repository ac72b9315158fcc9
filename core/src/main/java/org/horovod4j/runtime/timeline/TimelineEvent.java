package org.horovod4j.runtime.timeline;

/// An event of a [Recorder] with its time, for the writer.
sealed interface TimelineEvent {
    record Submitted(int processSet, String tensor, String op, long nanos)
            implements TimelineEvent {}

    record RankReady(int processSet, String tensor, int rank, long nanos)
            implements TimelineEvent {}

    record NegotiationEnded(int processSet, String tensor, long nanos) implements TimelineEvent {}

    record NegotiationFailed(int processSet, String tensor, String reason, long nanos)
            implements TimelineEvent {}

    record Started(Collective collective, long nanos) implements TimelineEvent {}

    record Activity(Collective collective, String name, long beginNanos, long endNanos)
            implements TimelineEvent {}

    record Ended(Collective collective, long nanos) implements TimelineEvent {}

    record Cycle(long nanos) implements TimelineEvent {}
}
