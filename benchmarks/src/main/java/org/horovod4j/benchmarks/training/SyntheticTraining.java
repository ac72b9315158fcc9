package org.horovod4j.benchmarks.training;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.runtime.GradientMemory;
import org.horovod4j.benchmarks.runtime.ModelParameter;
import org.horovod4j.benchmarks.runtime.SyntheticCompute;
import org.horovod4j.optim.Gradient;
import org.horovod4j.optim.GradientReducer;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.Gradients;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntConsumer;

/// Simulates the training of one rank. The gradients of ResNet-50 become ready last layer first,
/// each after its part of the computation. They are averaged as by the optimizer of a framework,
/// and then update the weights.
///
/// The gradients are known numbers that are written again in each step, so every weight can be
/// checked at the end: the time of a wrong result is meaningless.
final class SyntheticTraining {
    /// The supported modes. In this class the mode determines when gradients are submitted, so
    /// there is no default.
    static final Set<TrainingMode> MODES = EnumSet.complementOf(EnumSet.of(TrainingMode.DEFAULT));

    /// A power of two. With few steps, the weights are exact if the averages are.
    private static final float LEARNING_RATE = 1f / 1024;

    /// A prime number, so adjacent tensors have different gradients.
    private static final int VALUES = 7;

    private static final double TOLERANCE = 1e-4;

    private final Communicator comm;
    private final LayerCosts layerCosts;
    private final SyntheticCompute compute = new SyntheticCompute();
    private final List<Tensor> gradients;
    private final List<Tensor> weights;
    private final GradientReducer reducer;
    private long localSteps;
    private long distributedSteps;

    SyntheticTraining(Communicator comm, GradientMemory gradientMemory, LayerCosts layerCosts) {
        this.comm = comm;
        this.layerCosts = layerCosts;
        this.gradients = allocate(gradientMemory);
        this.weights = allocate(GradientMemory.NATIVE);
        this.reducer =
                new GradientReducer(
                        comm.processSet(), new ReducerGradients(), GradientSettings.DEFAULT);
    }

    /// Allocates in model order, as a framework does, and returns the tensors in backward order.
    private List<Tensor> allocate(GradientMemory gradientMemory) {
        return gradientMemory
                .allocate(
                        comm,
                        layerCosts.parameters().reversed().stream()
                                .map(ModelParameter::shape)
                                .toList())
                .reversed();
    }

    /// Provides the gradients to the reducer, which replaces them by the averages in place.
    private final class ReducerGradients implements Gradients {
        @Override
        public List<String> names() {
            return layerCosts.parameters().stream().map(ModelParameter::name).toList();
        }

        @Override
        public boolean isTrainable(int parameter) {
            return true;
        }

        @Override
        public Gradient acquire(int parameter) {
            return new Gradient.Dense(gradients.get(parameter));
        }

        @Override
        public void setReduced(int parameter, Gradient reduced) {}
    }

    /// Runs one step.
    ///
    /// @return the nanoseconds from the end of the backward pass until all gradients are averaged
    long step(TrainingMode trainingMode) {
        return switch (trainingMode) {
            case INDEPENDENT -> {
                computeGradients(layer -> {});
                update();
                localSteps++;
                yield 0;
            }
            case BARRIER -> {
                computeGradients(layer -> {});
                long waited = timed(comm::barrier);
                update();
                localSteps++;
                yield waited;
            }
            case ALLREDUCE -> synchronize();
            case OVERLAP -> distributedStep(reducer::ready);
            case SEQUENTIAL ->
                    distributedStep(layer -> {}); // the reducer submits all gradients when it waits
            case DEFAULT ->
                    throw new IllegalArgumentException(
                            "synthetic training has no default mode: choose one of " + MODES);
        };
    }

    private long distributedStep(IntConsumer ready) {
        computeGradients(ready);
        long waited = synchronize();
        update();
        distributedSteps++;
        return waited;
    }

    /// @param ready is called for each gradient as soon as it is computed
    private void computeGradients(IntConsumer ready) {
        compute.run(layerCosts.forwardIterations());
        for (int layer = 0; layer < gradients.size(); layer++) {
            compute.run(layerCosts.backwardIterations().get(layer));
            write(gradients.get(layer), gradient(layer, comm.rank() + 1f));
            ready.accept(layer);
        }
    }

    private static void write(Tensor gradient, float value) {
        MemorySegment values = gradient.segment();
        long count = gradient.elementCount();
        for (long i = 0; i < count; i++) {
            values.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
    }

    private long synchronize() {
        return timed(reducer::synchronize);
    }

    private static long timed(Runnable wait) {
        long start = System.nanoTime();
        wait.run();
        return System.nanoTime() - start;
    }

    private void update() {
        for (int layer = 0; layer < gradients.size(); layer++) {
            MemorySegment gradient = gradients.get(layer).segment();
            MemorySegment weight = weights.get(layer).segment();
            long count = gradients.get(layer).elementCount();
            for (long i = 0; i < count; i++) {
                float old = weight.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                float change = LEARNING_RATE * gradient.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                weight.setAtIndex(ValueLayout.JAVA_FLOAT, i, old - change);
            }
        }
    }

    private static float gradient(int layer, float ofRank) {
        return ofRank + layer % VALUES;
    }

    /// Checks every weight after all steps.
    void verify() {
        float average = (comm.size() + 1) / 2f;
        for (int layer = 0; layer < weights.size(); layer++) {
            double expected =
                    -LEARNING_RATE
                            * (localSteps * gradient(layer, comm.rank() + 1f)
                                    + distributedSteps * gradient(layer, average));
            check(layer, expected);
        }
    }

    private void check(int layer, double expected) {
        MemorySegment weight = weights.get(layer).segment();
        for (long i = 0; i < weights.get(layer).elementCount(); i++) {
            float found = weight.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            if (Math.abs(found - expected) > TOLERANCE * Math.abs(expected)) {
                throw new IllegalStateException(
                        "training on rank %d of %d: after %d steps alone and %d together, element %d of '%s' is %s, not %s"
                                .formatted(
                                        comm.rank(),
                                        comm.size(),
                                        localSteps,
                                        distributedSteps,
                                        i,
                                        layerCosts.parameters().get(layer).name(),
                                        found,
                                        expected));
            }
        }
    }

    /// The parameter of a layer. Layers count from the last.
    Tensor weight(int layer) {
        return weights.get(layer);
    }

    long gradientBytes() {
        return gradients.stream()
                .mapToLong(gradient -> gradient.elementCount() * Float.BYTES)
                .sum();
    }
}
