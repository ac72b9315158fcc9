package org.horovod4j.optim;

import java.time.Duration;

/// Counts launches and the time around them: two readings of the clock in a step, and one at its
/// end.
final class Stopwatch {
    private long steps;
    private long launchedByPasses;
    private long launchedBySteps;
    private long hiddenNanos;
    private long exposedNanos;

    private boolean hasLaunched;
    private long firstLaunch;
    private long waitBegins;

    void launched(int gradients, boolean bySteps) {
        if (!hasLaunched) {
            hasLaunched = true;
            firstLaunch = System.nanoTime();
        }
        if (bySteps) {
            launchedBySteps += gradients;
        } else {
            launchedByPasses += gradients;
        }
    }

    void waitBegins() {
        waitBegins = System.nanoTime();
    }

    void stepEnds() {
        steps++;
        exposedNanos += System.nanoTime() - waitBegins;
        if (hasLaunched) {
            hiddenNanos += waitBegins - firstLaunch;
        }
        hasLaunched = false;
    }

    /// What was launched led to no step.
    void abandoned() {
        hasLaunched = false;
    }

    Timing timing() {
        return new Timing(
                steps,
                launchedByPasses,
                launchedBySteps,
                Duration.ofNanos(hiddenNanos),
                Duration.ofNanos(exposedNanos));
    }
}
