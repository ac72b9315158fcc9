package org.horovod4j.runtime.timeline;

import java.util.Comparator;
import java.util.List;

/// The difference between the clock of a rank and that of rank 0, measured by requests and answers.
///
/// The clock of rank 0 is assumed to be read midway between request and answer. So the error is at
/// most half the round trip, and the shortest round trip gives the best value.
///
/// @param nanos to be added to this rank's [System#nanoTime] to get that of rank 0
/// @param roundTripNanos of the sample that was used
public record ClockOffset(long nanos, long roundTripNanos) {

    /// One request: when it was sent and its answer received, by this rank's clock, and the time of
    /// rank 0 in the answer.
    public record Sample(long sentNanos, long rankZeroNanos, long receivedNanos) {
        public Sample {
            if (receivedNanos - sentNanos < 0) {
                throw new IllegalArgumentException(
                        "an answer came %d ns before its question left"
                                .formatted(sentNanos - receivedNanos));
            }
        }

        long roundTripNanos() {
            return receivedNanos - sentNanos;
        }

        long offsetNanos() {
            return rankZeroNanos - (sentNanos + roundTripNanos() / 2);
        }
    }

    /// The offset of the sample with the shortest round trip.
    ///
    /// @throws IllegalArgumentException when there is no sample
    public static ClockOffset of(List<Sample> samples) {
        Sample best =
                samples.stream()
                        .min(Comparator.comparingLong(Sample::roundTripNanos))
                        .orElseThrow(
                                () -> new IllegalArgumentException("no sample, no clock offset"));
        return new ClockOffset(best.offsetNanos(), best.roundTripNanos());
    }
}
