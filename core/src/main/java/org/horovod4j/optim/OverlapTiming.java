package org.horovod4j.optim;

import java.time.Duration;

/// How well communication hides behind backward passes.
///
/// The exposed time is what a program waits for the others. The hidden time is an upper bound: from
/// the first launch of a step until the program begins to wait. Whether the network was busy all
/// that while is not known, as asking would change how operations are fused.
///
/// @param steps that were synchronized
/// @param launchedByPasses gradients whose reduction was launched while a backward pass ran
/// @param launchedBySteps gradients whose reduction was launched when the step asked for it
/// @param hidden time between first launches and the beginning of waits, all steps together
/// @param exposed time of all waits
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
