package org.horovod4j.runtime.timeline;

/// What a [Recorder] was told, and when, on its way to the writer.
sealed interface Event {
    record Submitted(int processSet, String tensor, String op, long nanos) implements Event {}

    record Reported(int processSet, String tensor, int rank, long nanos) implements Event {}

    record Agreed(int processSet, String tensor, long nanos) implements Event {}

    record Failed(int processSet, String tensor, String reason, long nanos) implements Event {}

    record Began(Collective collective, long nanos) implements Event {}

    record Activity(Collective collective, String name, long beginNanos, long endNanos)
            implements Event {}

    record Ended(Collective collective, long nanos) implements Event {}

    record Cycle(long nanos) implements Event {}
}
