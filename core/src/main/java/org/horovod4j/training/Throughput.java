package org.horovod4j.training;

/// The samples that this rank has trained on in an epoch, and the time for them.
///
/// The time ends with the last batch, so validation does not count. In the first epoch it starts
/// with the end of the first batch, which is left out: that one includes loading, compilation and
/// warm-up.
final class Throughput {
    private long startNanos;
    private long lastNanos;
    private boolean isRunning;
    private int batches;
    private long samples;
    private long timedSamples;

    /// A measurement that starts with the end of the first batch.
    Throughput() {}

    /// A measurement that starts now.
    Throughput(long now) {
        startNanos = now;
        lastNanos = now;
        isRunning = true;
    }

    void batchDone(long now, long batchSize) {
        batches++;
        samples += batchSize;
        if (isRunning) {
            timedSamples += batchSize;
        } else {
            startNanos = now;
            isRunning = true;
        }
        lastNanos = now;
    }

    int batches() {
        return batches;
    }

    /// All samples.
    long samples() {
        return samples;
    }

    /// The samples that belong to [#seconds].
    long timedSamples() {
        return timedSamples;
    }

    double seconds() {
        return (lastNanos - startNanos) / 1e9;
    }
}
