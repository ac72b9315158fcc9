package org.horovod4j.optim;

import java.time.Duration;

/// Counts launches and measures hidden and exposed time. Costs three readings of the clock per
/// step.
final class OverlapTimer {
    private long steps;
    private long launchedByPasses;
    private long launchedBySteps;
    private long hiddenNanos;
    private long exposedNanos;

    private boolean hasLaunched;
    private long firstLaunchNanos;
    private long waitStartNanos;

    void launched(int gradients, boolean bySteps) {
        if (!hasLaunched) {
            hasLaunched = true;
            firstLaunchNanos = System.nanoTime();
        }
        if (bySteps) {
            launchedBySteps += gradients;
        } else {
            launchedByPasses += gradients;
        }
    }

    void waitStarted() {
        waitStartNanos = System.nanoTime();
    }

    void stepCompleted() {
        steps++;
        exposedNanos += System.nanoTime() - waitStartNanos;
        if (hasLaunched) {
            hiddenNanos += waitStartNanos - firstLaunchNanos;
        }
        hasLaunched = false;
    }

    /// The launches of this window belong to no step.
    void windowDiscarded() {
        hasLaunched = false;
    }

    OverlapTiming timing() {
        return new OverlapTiming(
                steps,
                launchedByPasses,
                launchedBySteps,
                Duration.ofNanos(hiddenNanos),
                Duration.ofNanos(exposedNanos));
    }
}
