package org.horovod4j.optim;

import java.time.Duration;

/// Counts launches and the time around them: two readings of the clock in a step, and one at its
/// end.
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

    /// What was launched led to no step.
    void windowAbandoned() {
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
