package org.horovod4j.dl4j;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.optim.Gradient;
import org.horovod4j.optim.GradientReducer;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.optim.Gradients;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/// Averages an array of gradients over all ranks, in place: the one array of a DL4J network, or that of a
/// variable of a SameDiff graph.
///
/// DL4J's gradients are sums over the samples of a batch. Its updater divides them by the size of the
/// batch, then clips, then computes the change of the parameters. So the ranks add up their sums and
/// their batch sizes, and each rank divides by the same number: every sample of the step has the same
/// weight, even if the batches of the ranks differ in size. Parts of the array that are no sums, such
/// as changes of running statistics in batch normalisation, are averaged over the ranks.
///
/// With Adasum each rank computes the change from its own batch, and the changes are combined.
final class FlatGradient {
    private final String name;
    private final Supplier<ProcessSet> processSets;
    private final GradientSettings settings;
    private @Nullable Communicator boundTo;
    private @Nullable Arrays arrays;
    private @Nullable GradientReducer reducer;

    /// The divisor of sums in this step.
    private double divisor;

    /// @param name of the array in messages; the same on all ranks
    /// @param processSets the ranks that train together, asked for in each step
    FlatGradient(String name, Supplier<ProcessSet> processSets, GradientSettings settings) {
        check(settings);
        this.name = name;
        this.processSets = processSets;
        this.settings = settings;
    }

    @SuppressWarnings("ReferenceEquality") // the default predicate is one object
    private static void check(GradientSettings settings) {
        GradientSettings byDefault = GradientSettings.DEFAULT;
        if (settings.op() == ReduceOp.SUM) {
            throw new IllegalArgumentException(
                    """
                    op is SUM, but DL4J divides the sum over all ranks by their samples
                    Use AVERAGE, and multiply the learning rate by the number of ranks.""");
        }
        if (settings.backwardPassesPerStep() != 1 || settings.averageAccumulated()) {
            throw new IllegalArgumentException(
                    """
                    backwardPassesPerStep is %d, but DL4J overwrites the gradient in each backward pass
                    Leave it at 1, and use larger batches or more ranks."""
                            .formatted(settings.backwardPassesPerStep()));
        }
        if (!settings.gradientGroups().equals(byDefault.gradientGroups())
                || settings.local() != byDefault.local()) {
            throw new IllegalArgumentException(
                    """
                    groups and local parameters are not possible: a network of DL4J has one array for all gradients
                    Leave out these options.""");
        }
    }

    /// Reduces what `update` works with, or its result.
    ///
    /// @param gradient all gradients of a backward pass: sums over the batch
    /// @param parameters all parameters
    /// @param samples of this rank's batch
    /// @param sums the parts of the gradient that are sums
    /// @param isDivided whether `update` divides the sums, by [#divide]
    /// @param update turns the gradient into the change of the parameters, in place
    void reduceAndUpdate(
            INDArray gradient,
            INDArray parameters,
            int samples,
            Supplier<List<INDArray>> sums,
            boolean isDivided,
            Runnable update) {
        GradientReducer current = bind(gradient, parameters);
        divisor = samples;
        if (current.isSingleRank()) {
            update.run();
        } else if (settings.op() == ReduceOp.ADASUM) {
            update.run();
            reduce(current);
        } else {
            Handle<Tensor> mean = reduceSamples("mean samples", samples, ReduceOp.AVERAGE);
            Handle<Tensor> total =
                    isDivided ? mean : reduceSamples("all samples", samples, ReduceOp.SUM);
            reduce(current);
            // the gradient is an average over ranks now, so the divisor is one too
            double[] means = mean.join().toDoubleArray();
            double live = means[1];
            if (live != 1) { // the average counts ranks that have joined
                gradient.divi(live);
            }
            divisor = means[0] / live;
            if (!isDivided) {
                double averagedOver = total.join().toDoubleArray()[0] / divisor;
                sums.get().forEach(part -> part.muli(averagedOver));
            }
            update.run();
        }
    }

    /// Submitted before the gradient and awaited after it, so that both are reduced at the same time. A rank that
    /// has joined counts in both or in none.
    private Handle<Tensor> reduceSamples(String what, int samples, ReduceOp op) {
        return processSets
                .get()
                .communicator()
                .allreduceAsync(
                        settings.prefix() + "." + what,
                        Tensor.of(new double[] {samples, 1}),
                        AllreduceOptions.of(op));
    }

    /// Reduces a gradient that is a mean over the batch, or the result of `update`.
    ///
    /// @param weight of this rank's batch; the mean over the ranks is 1
    void averageAndUpdate(
            INDArray gradient, INDArray parameters, DoubleSupplier weight, Runnable update) {
        GradientReducer current = bind(gradient, parameters);
        if (current.isSingleRank()) {
            update.run();
        } else if (settings.op() == ReduceOp.ADASUM) {
            update.run();
            reduce(current);
        } else {
            double own = weight.getAsDouble();
            if (own != 1) {
                gradient.muli(own);
            }
            reduce(current);
            update.run();
        }
    }

    private static void reduce(GradientReducer current) {
        current.backwardPassCompleted();
        current.synchronize();
    }

    /// In an elastic job, each generation has its own ranks.
    @SuppressWarnings("ReferenceEquality") // another generation is another object
    private GradientReducer bind(INDArray gradient, INDArray parameters) {
        ProcessSet processSet = processSets.get();
        Communicator now = processSet.isIncluded() ? processSet.communicator() : null;
        Arrays current = arrays;
        if (reducer == null || current == null || now != boundTo) {
            current = new Arrays(name);
            arrays = current;
            reducer = new GradientReducer(processSet, current, settings);
            boundTo = now;
        }
        current.set(gradient, parameters);
        return reducer;
    }

    /// Divides sums of this step by their samples.
    void divide(List<INDArray> sums) {
        sums.forEach(part -> part.divi(divisor));
    }

    /// The arrays of the current step.
    private static final class Arrays implements Gradients {
        private final String name;
        private @Nullable Tensor gradient;
        private @Nullable Tensor parameters;

        Arrays(String name) {
            this.name = name;
        }

        void set(INDArray gradientArray, INDArray parameterArray) {
            gradient = ArrayTensors.view(gradientArray);
            parameters = ArrayTensors.view(parameterArray);
        }

        @Override
        public List<String> names() {
            return List.of(name);
        }

        @Override
        public boolean isTrainable(int parameter) {
            return true;
        }

        @Override
        public Gradient acquire(int parameter) {
            return new Gradient.Dense(Objects.requireNonNull(gradient, name));
        }

        /// It is in the memory of DL4J already.
        @Override
        public void setReduced(int parameter, Gradient reduced) {}

        @Override
        public Optional<Tensor> value(int parameter) {
            return Optional.ofNullable(parameters);
        }
    }
}
