package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.report.Percentiles;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/// A variant and its gradients. It takes turns with the other variants of its job.
final class VariantRunner {
    private final Communicator comm;
    private final StepVariant stepVariant;
    private final StepTimer timer;
    private final GradientStep step;
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
        this.step =
                switch (stepVariant.mode()) {
                    case FLAT -> synthetic(workload.flat(), SyntheticGradients::allreduceSync);
                    case ASYNC, COMMUNICATE ->
                            synthetic(
                                    workload.parameters(),
                                    gradients -> gradients.allreduceAsync(() -> {}));
                    case GROUPED ->
                            synthetic(workload.parameters(), SyntheticGradients::groupedAllreduce);
                    case COMPUTE ->
                            synthetic(
                                    workload.parameters(),
                                    gradients -> gradients.computeOnly(layerCompute));
                    case OVERLAP ->
                            synthetic(
                                    workload.parameters(),
                                    gradients -> gradients.allreduceAsync(layerCompute));
                    case GRAPH -> new GraphGradients(comm, workload.parameters(), true);
                    case NOOP -> new GraphGradients(comm, workload.parameters(), false);
                    case GLOO -> gloo(workload.parameters());
                    case GLOOFLAT -> gloo(workload.flat());
                };
    }

    private GradientStep gloo(List<ModelParameter> parameters) {
        SyntheticGradients gradients = allocate(parameters);
        GlooAllreduce allreduce = new GlooAllreduce(comm, gradients.tensors());
        return step(gradients, allreduce::run);
    }

    private GradientStep synthetic(
            List<ModelParameter> parameters, Consumer<SyntheticGradients> action) {
        SyntheticGradients gradients = allocate(parameters);
        return step(gradients, () -> action.accept(gradients));
    }

    private SyntheticGradients allocate(List<ModelParameter> parameters) {
        return SyntheticGradients.allocate(comm, stepVariant.memory(), parameters);
    }

    private GradientStep step(SyntheticGradients gradients, Runnable action) {
        boolean sums = stepVariant.mode() != StepMode.COMPUTE;
        return new GradientStep() {
            @Override
            public void run() {
                action.run();
            }

            @Override
            public void verify() {
                if (sums) {
                    gradients.verify(this::run);
                }
            }
        };
    }

    StepVariant variant() {
        return stepVariant;
    }

    void warmUp() {
        step.verify();
        stepsPerTurn = timer.warmUp(step::run);
    }

    /// Called before and after the turns. After the turns the runtime is in the state that was
    /// measured.
    void verify() {
        step.verify();
    }

    /// The percentiles of this rank's steps in one turn, in microseconds.
    Percentiles runTurn() throws IOException {
        return stepVariant.runtimeSetting() == RuntimeSetting.TIMELINE
                ? timeWithTimeline()
                : timer.time(step::run, stepsPerTurn);
    }

    /// Deletes the trace at once: the traces of all turns would be large, and the folder may be in
    /// memory.
    private Percentiles timeWithTimeline() throws IOException {
        Path trace = Files.createTempFile("timeline", ".json");
        comm.startTimeline(trace, false);
        try {
            return timer.time(step::run, stepsPerTurn);
        } finally {
            comm.stopTimeline();
            Files.delete(trace);
        }
    }
}
