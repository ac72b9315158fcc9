package org.horovod4j.optim;

import java.time.Duration;

/// How well communication overlaps with backward passes.
///
/// The exposed time is the time that a program waits for reductions. The hidden time is an upper
/// bound: from the first launch of a step until the program begins to wait. Whether the network was
/// busy all the time is unknown, since a query would change how operations are fused.
///
/// @param steps the number of steps
/// @param launchedByPasses gradients whose reduction was launched while a backward pass ran
/// @param launchedBySteps gradients whose reduction was launched by the step
/// @param hidden time between the first launch and the beginning of the wait, over all steps
/// @param exposed time of the waits, over all steps
public record OverlapTiming(
        long steps,
        long launchedByPasses,
        long launchedBySteps,
        Duration hidden,
        Duration exposed) {
    public Duration hiddenPerStep() {
        return steps == 0 ? Duration.ZERO : hidden.dividedBy(steps);
    }

    public Duration exposedPerStep() {
        return steps == 0 ? Duration.ZERO : exposed.dividedBy(steps);
    }
}
