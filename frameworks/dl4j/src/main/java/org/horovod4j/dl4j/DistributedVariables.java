package org.horovod4j.dl4j;

import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.optim.GradientSettings;
import org.jspecify.annotations.Nullable;
import org.nd4j.autodiff.listeners.At;
import org.nd4j.autodiff.listeners.BaseListener;
import org.nd4j.autodiff.listeners.Operation;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.samediff.TrainingConfig;
import org.nd4j.autodiff.samediff.VariableType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

import java.util.HashSet;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
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
        graph.setListeners(
                graph.getListeners().stream()
                        .filter(each -> !(each instanceof BatchWeight))
                        .toList());
        BatchWeight weight = new BatchWeight(processSets, settings.prefix() + ".samples");
        weight.addTo(graph);
        graph.getUpdaterMap()
                .replaceAll(
                        (name, updater) ->
                                new DistributedUpdater<>(
                                        plain(updater),
                                        new FlatGradient(name, processSets, settings),
                                        graph,
                                        name,
                                        weight));
    }

    /// Unwraps an updater of an earlier call.
    private static GradientUpdater<?> plain(GradientUpdater<?> updater) {
        return updater instanceof DistributedUpdater<?> own ? own.wrapped : updater;
    }

    /// Makes the updaters, as SameDiff does in its first step.
    private static void initialize(SameDiff graph) {
        if (graph.getTrainingConfig() == null) {
            throw new IllegalStateException(
                    "the graph has no training configuration: call setTrainingConfig first");
        }
        useOneOrder(graph);
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

    /// Ranks exchange elements in the order of memory. A variable may have order `f` on one rank alone, for
    /// example if only the others have read it from a file.
    private static void useOneOrder(SameDiff graph) {
        for (SDVariable variable : graph.variables()) {
            if (variable.getVariableType() == VariableType.VARIABLE) {
                INDArray array = variable.getArr();
                if (!isInOrder(array)) {
                    variable.setArray(array.dup('c'));
                }
            }
        }
    }

    private static boolean isInOrder(INDArray array) {
        return ArrayTensors.isContiguous(array)
                && (array.ordering() == 'c' || array.isVectorOrScalar());
    }

    /// The state of a graph that is equal on all ranks.
    static ReplicatedState state(SameDiff graph) {
        initialize(graph);
        return new GraphState(graph);
    }

    private record GraphState(SameDiff graph) implements ReplicatedState {
        @Override
        public Map<String, Tensor> tensors() {
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
            return tensors;
        }

        private static Map<String, INDArray> state(GradientUpdater<?> updater) {
            Map<String, INDArray> state = updater.getState();
            return state == null ? Map.of() : state; // none with plain SGD
        }

        @Override
        public Counts counts() {
            TrainingConfig config = graph.getTrainingConfig();
            return new Counts(config.getIterationCount(), config.getEpochCount());
        }

        @Override
        public void setCounts(Counts counts) {
            graph.getTrainingConfig().setIterationCount(counts.iterations());
            graph.getTrainingConfig().setEpochCount(counts.epochs());
        }
    }

    /// The weight of this rank's batch in a step: its samples divided by the mean over the ranks. The
    /// average of the weighted gradients is then the mean over all samples of the step.
    private static final class BatchWeight extends BaseListener {
        private final Supplier<ProcessSet> processSets;
        private final String name;

        /// Of the current step; unknown if the program has replaced the listeners.
        private OptionalDouble samples = OptionalDouble.empty();

        /// The variables that are updated in the current step.
        private final Set<String> updated = new HashSet<>();

        private double weight;

        BatchWeight(Supplier<ProcessSet> processSets, String name) {
            this.processSets = processSets;
            this.name = name;
        }

        @Override
        public boolean isActive(Operation operation) {
            return operation == Operation.TRAINING;
        }

        @Override
        public void iterationStart(SameDiff graph, At at, MultiDataSet batch, long loadMillis) {
            samples = OptionalDouble.of((double) batch.getFeatures(0).size(0));
            updated.clear();
        }

        /// All ranks ask for the first gradient of a step at the same point of the graph. All take part, also one
        /// that does not know its samples: all batches of the step then have the same weight.
        ///
        /// @param variable updated once in each step
        double of(String variable) {
            if (!updated.add(variable)) { // a step without `iterationStart`
                updated.clear();
                boolean _ = updated.add(variable);
            }
            if (updated.size() == 1) {
                double own = samples.orElse(0);
                double[] means = {own, samples.isPresent() ? 0 : 1};
                samples = OptionalDouble.empty();
                processSets.get().communicator().allreduce(name, means, ReduceOp.AVERAGE);
                weight = means[1] > 0 ? 1 : own / means[0];
            }
            return weight;
        }

        void addTo(SameDiff graph) {
            if (!graph.getListeners().contains(this)) {
                graph.addListeners(this);
            }
        }
    }

    private static final class DistributedUpdater<T extends IUpdater>
            implements GradientUpdater<T> {
        private final GradientUpdater<T> wrapped;
        private final FlatGradient flatGradient;
        private final SameDiff graph;
        private final String name;
        private final BatchWeight weight;

        DistributedUpdater(
                GradientUpdater<T> wrapped,
                FlatGradient flatGradient,
                SameDiff graph,
                String name,
                BatchWeight weight) {
            this.wrapped = wrapped;
            this.flatGradient = flatGradient;
            this.graph = graph;
            this.name = name;
            this.weight = weight;
        }

        @Override
        @SuppressWarnings("ReferenceEquality") // the same array or its copy
        public void applyUpdater(INDArray gradient, int iteration, int epoch) {
            weight.addTo(graph);
            INDArray whole = isInOrder(gradient) ? gradient : gradient.dup('c');
            flatGradient.averageAndUpdate(
                    whole,
                    graph.getVariable(name).getArr(),
                    () -> weight.of(name),
                    () -> wrapped.applyUpdater(whole, iteration, epoch));
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
