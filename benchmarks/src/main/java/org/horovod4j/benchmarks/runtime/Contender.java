package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.report.Spread;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// A variant that takes turns with others of its job, and its gradients.
final class Contender {
    private final Communicator comm;
    private final Variant variant;
    private final StepTimer timer;
    private final Gradients gradients;
    private final Runnable step;
    private int stepsOfTurn;

    Contender(
            Communicator comm,
            Variant variant,
            Workload workload,
            Arithmetic arithmetic,
            StepTimer timer) {
        this.comm = comm;
        this.variant = variant;
        this.timer = timer;
        this.gradients =
                Gradients.allocate(
                        comm,
                        variant.placement(),
                        variant.way() == Way.FLAT ? workload.flat() : workload.parameters());
        this.step = step(variant.way(), gradients, arithmetic);
    }

    private static Runnable step(Way way, Gradients gradients, Arithmetic arithmetic) {
        return switch (way) {
            case FLAT -> gradients::sumSynchronously;
            case ASYNC, COMMUNICATE -> () -> gradients.sumAsynchronously(() -> {});
            case GROUPED -> gradients::sumAsGroup;
            case COMPUTE -> () -> gradients.skip(arithmetic);
            case OVERLAP -> () -> gradients.sumAsynchronously(arithmetic);
        };
    }

    Variant variant() {
        return variant;
    }

    void warmUp() {
        verify();
        stepsOfTurn = timer.stepsOfTurn(step);
    }

    /// Before the turns, and again after them: only then has the runtime reached the state that was
    /// timed.
    void verify() {
        if (variant.way() != Way.COMPUTE) {
            gradients.verify(step);
        }
    }

    /// The spread of this rank's steps in one turn, in microseconds.
    Spread takeTurn() throws IOException {
        return variant.setting() == Setting.TIMELINE ? traced() : timer.time(step, stepsOfTurn);
    }

    /// The trace is removed at once: that of all turns would be large, and the folder may be memory.
    private Spread traced() throws IOException {
        Path trace = Files.createTempFile("timeline", ".json");
        comm.startTimeline(trace, false);
        try {
            return timer.time(step, stepsOfTurn);
        } finally {
            comm.stopTimeline();
            Files.delete(trace);
        }
    }
}
