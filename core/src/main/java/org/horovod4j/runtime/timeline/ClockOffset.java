package org.horovod4j.runtime.timeline;

import java.util.Comparator;
import java.util.List;

/// How far the clock of a rank is from that of rank 0, measured by questions and answers between
/// the two.
///
/// An answer is taken to have been given midway between question and return. It was given somewhere
/// in between, so the error is at most half the round trip, and the shortest of many tells most.
///
/// @param nanos to be added to this rank's [System#nanoTime] to get that of rank 0
/// @param roundTripNanos of the sample that was believed
public record ClockOffset(long nanos, long roundTripNanos) {

    /// One question: when it left and its answer came, by this rank's clock, and what rank 0's
    /// clock said.
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

    /// The offset that the quickest of the samples tells.
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
