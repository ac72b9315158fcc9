package org.horovod4j.spark;

import org.apache.spark.util.AccumulatorV2;
import org.jspecify.annotations.Nullable;

import java.util.Locale;

/// How many samples all ranks have trained on, and how many per second: an accumulator that the
/// stage's page of the Spark UI shows.
///
/// The rate counts from the first report of any rank to the last.
final class SampleRate extends AccumulatorV2<Long, String> {
    private static final long serialVersionUID = 1L;

    /// The accumulator of the task that this thread, or the thread that started it, runs.
    private static final InheritableThreadLocal<@Nullable SampleRate> CURRENT =
            new InheritableThreadLocal<>();

    private long samples;
    private long firstMillis = Long.MAX_VALUE;
    private long lastMillis = Long.MIN_VALUE;

    static void attach(@Nullable SampleRate rate) {
        if (rate == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(rate);
        }
    }

    /// Does nothing outside of a task.
    static void report(long count) {
        SampleRate rate = CURRENT.get();
        if (rate != null) {
            rate.add(count);
        }
    }

    @Override
    public synchronized boolean isZero() {
        return samples == 0;
    }

    @Override
    public synchronized AccumulatorV2<Long, String> copy() {
        SampleRate copy = new SampleRate();
        copy.merge(samples, firstMillis, lastMillis);
        return copy;
    }

    @Override
    public synchronized void reset() {
        samples = 0;
        firstMillis = Long.MAX_VALUE;
        lastMillis = Long.MIN_VALUE;
    }

    @Override
    public void add(Long count) {
        long now = System.currentTimeMillis();
        merge(count, now, now);
    }

    @Override
    public void merge(AccumulatorV2<Long, String> other) {
        SampleRate rate = (SampleRate) other;
        merge(rate.samples, rate.firstMillis, rate.lastMillis);
    }

    private synchronized void merge(long count, long first, long last) {
        samples += count;
        firstMillis = Math.min(firstMillis, first);
        lastMillis = Math.max(lastMillis, last);
    }

    synchronized long samples() {
        return samples;
    }

    @Override
    public synchronized String value() {
        if (lastMillis <= firstMillis) {
            return Long.toString(samples);
        }
        return String.format(
                Locale.ROOT,
                "%d, %.1f per second",
                samples,
                samples * 1000.0 / (lastMillis - firstMillis));
    }
}
