package org.horovod4j.djl.training;

/// How many samples this rank has trained on in an epoch, and in how much time.
///
/// The clock stops with the last batch, so validation does not count. In the first epoch it starts
/// with the end of the first batch, which is then left out: that one loads, compiles and warms up.
final class Throughput {
    private long since;
    private long last;
    private boolean isRunning;
    private int batches;
    private long samples;
    private long timedSamples;

    /// A measurement that starts with the end of the first batch.
    Throughput() {}

    /// A measurement that starts now.
    Throughput(long now) {
        since = now;
        last = now;
        isRunning = true;
    }

    /// A batch is through.
    void batch(long now, long batchSize) {
        batches++;
        samples += batchSize;
        if (isRunning) {
            timedSamples += batchSize;
        } else {
            since = now;
            isRunning = true;
        }
        last = now;
    }

    int batches() {
        return batches;
    }

    /// All samples.
    long samples() {
        return samples;
    }

    /// Those that were trained on in [#seconds].
    long timedSamples() {
        return timedSamples;
    }

    double seconds() {
        return (last - since) / 1e9;
    }
}
