package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.report.Percentiles;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// A variant and its gradients. It takes turns with the other variants of its job.
final class VariantRunner {
    private final Communicator comm;
    private final StepVariant stepVariant;
    private final StepTimer timer;
    private final SyntheticGradients syntheticGradients;
    private final Runnable step;
    private int stepsPerTurn;

    VariantRunner(
            Communicator comm,
            StepVariant stepVariant,
            Workload workload,
            Runnable layerCompute,
            StepTimer timer) {
        this.comm = comm;
        this.stepVariant = stepVariant;
        this.timer = timer;
        this.syntheticGradients =
                SyntheticGradients.allocate(
                        comm,
                        stepVariant.memory(),
                        stepVariant.mode() == StepMode.FLAT
                                ? workload.flat()
                                : workload.parameters());
        this.step = step(stepVariant.mode(), syntheticGradients, layerCompute);
    }

    private static Runnable step(
            StepMode stepMode, SyntheticGradients syntheticGradients, Runnable layerCompute) {
        return switch (stepMode) {
            case FLAT -> syntheticGradients::allreduceSync;
            case ASYNC, COMMUNICATE -> () -> syntheticGradients.allreduceAsync(() -> {});
            case GROUPED -> syntheticGradients::groupedAllreduce;
            case COMPUTE -> () -> syntheticGradients.computeOnly(layerCompute);
            case OVERLAP -> () -> syntheticGradients.allreduceAsync(layerCompute);
        };
    }

    StepVariant variant() {
        return stepVariant;
    }

    void warmUp() {
        verify();
        stepsPerTurn = timer.warmUp(step);
    }

    /// Called before and after the turns. After the turns the runtime is in the state that was
    /// measured.
    void verify() {
        if (stepVariant.mode() != StepMode.COMPUTE) {
            syntheticGradients.verify(step);
        }
    }

    /// The percentiles of this rank's steps in one turn, in microseconds.
    Percentiles runTurn() throws IOException {
        return stepVariant.runtimeSetting() == RuntimeSetting.TIMELINE
                ? timeWithTimeline()
                : timer.time(step, stepsPerTurn);
    }

    /// Deletes the trace at once: the traces of all turns would be large, and the folder may be in
    /// memory.
    private Percentiles timeWithTimeline() throws IOException {
        Path trace = Files.createTempFile("timeline", ".json");
        comm.startTimeline(trace, false);
        try {
            return timer.time(step, stepsPerTurn);
        } finally {
            comm.stopTimeline();
            Files.delete(trace);
        }
    }
}
