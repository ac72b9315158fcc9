package org.horovod4j.dl4j;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.Tensor;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.training.TensorBroadcast;
import org.jspecify.annotations.Nullable;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/// The updaters of a SameDiff graph, one for each variable, with a [FlatGradient] in front.
///
/// SameDiff calls the updater of a variable when its gradient is there, in the order of the graph, which is
/// the same on all ranks.
final class DistributedVariables {
    private DistributedVariables() {}

    static void install(
            SameDiff graph, Supplier<ProcessSet> processSets, GradientSettings settings) {
        initialize(graph);
        graph.getUpdaterMap()
                .replaceAll(
                        (name, updater) ->
                                new DistributedUpdater<>(
                                        plain(updater),
                                        new FlatGradient(name, processSets, settings),
                                        () -> graph.getVariable(name).getArr()));
    }

    /// Without those of an earlier call.
    private static GradientUpdater<?> plain(GradientUpdater<?> updater) {
        return updater instanceof DistributedUpdater<?> own ? own.wrapped : updater;
    }

    /// SameDiff does so in its first step.
    private static void initialize(SameDiff graph) {
        if (graph.getTrainingConfig() == null) {
            throw new IllegalStateException(
                    "the graph has no training configuration: call setTrainingConfig first");
        }
        if (graph.isInitializedTraining()) {
            return;
        }
        try {
            var initialize = SameDiff.class.getDeclaredMethod("initializeTraining");
            initialize.setAccessible(true);
            initialize.invoke(graph);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    """
                    this version of ND4J does not let a program prepare the training of a graph
                    Use ND4J 1.0.0-M2.1, or call fit once before HvdDl4j.distributed.""",
                    e);
        }
    }

    /// Overwrites variables and the state of updaters.
    static void broadcast(Communicator communicator, SameDiff graph, int rootRank) {
        initialize(graph);
        Map<String, Tensor> tensors = new TreeMap<>();
        graph.getUpdaterMap()
                .forEach(
                        (name, updater) -> {
                            SDVariable variable = graph.getVariable(name);
                            tensors.put(name, ArrayTensors.view(variable.getArr()));
                            state(updater)
                                    .forEach(
                                            (key, array) ->
                                                    tensors.put(
                                                            name + "/" + key,
                                                            ArrayTensors.view(array)));
                        });
        TensorBroadcast.run(communicator, "send the variables of the graph", tensors, rootRank);
    }

    private static Map<String, INDArray> state(GradientUpdater<?> updater) {
        Map<String, INDArray> state = updater.getState();
        return state == null ? Map.of() : state; // none with plain SGD
    }

    private static final class DistributedUpdater<T extends IUpdater>
            implements GradientUpdater<T> {
        private final GradientUpdater<T> wrapped;
        private final FlatGradient flatGradient;
        private final Supplier<INDArray> parameter;

        DistributedUpdater(
                GradientUpdater<T> wrapped,
                FlatGradient flatGradient,
                Supplier<INDArray> parameter) {
            this.wrapped = wrapped;
            this.flatGradient = flatGradient;
            this.parameter = parameter;
        }

        @Override
        @SuppressWarnings("ReferenceEquality") // the same array or its copy
        public void applyUpdater(INDArray gradient, int iteration, int epoch) {
            INDArray whole = ArrayTensors.isContiguous(gradient) ? gradient : gradient.dup();
            flatGradient.averageAndUpdate(
                    whole, parameter.get(), () -> wrapped.applyUpdater(whole, iteration, epoch));
            if (whole != gradient) { // a copy
                gradient.assign(whole);
            }
        }

        @Override
        public T getConfig() {
            return wrapped.getConfig();
        }

        @Override
        public void setState(Map<String, INDArray> state, boolean initialize) {
            wrapped.setState(state, initialize);
        }

        @Override
        public @Nullable Map<String, INDArray> getState() {
            return wrapped.getState();
        }

        @Override
        public void setStateViewArray(
                @Nullable INDArray view, long[] shape, char order, boolean initialize) {
            wrapped.setStateViewArray(view, shape, order, initialize);
        }
    }
}
