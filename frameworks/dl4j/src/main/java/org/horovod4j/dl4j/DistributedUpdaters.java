package org.horovod4j.dl4j;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.List;

/// The updater of a network, which DL4J calls after each backward pass, with a [FlatGradient] in front.
///
/// The updaters are those of DL4J: their state is saved with the network, and a program without
/// Horovod4J loads it.
final class DistributedUpdaters {
    private DistributedUpdaters() {}

    /// Puts a distributed updater in place of the present one, with its state.
    static void install(TrainableNetwork network, FlatGradient flatGradient) {
        network.listeners().removeIf(UpdaterListener.class::isInstance);
        UpdaterListener listener = new UpdaterListener(network, flatGradient);
        listener.installUpdater();
        network.addListener(listener);
    }

    /// Whether the network has a distributed updater.
    static boolean isInstalled(TrainableNetwork network) {
        return network.updater() instanceof Distributed
                || network.listeners().stream().anyMatch(UpdaterListener.class::isInstance);
    }

    /// An updater of this file.
    interface Distributed {
        FlatGradient flatGradient();
    }

    /// Installs the updater again after the program has changed the learning rate: DL4J then makes a
    /// new updater.
    private static final class UpdaterListener extends BaseTrainingListener {
        private final TrainableNetwork network;
        private final FlatGradient flatGradient;

        UpdaterListener(TrainableNetwork network, FlatGradient flatGradient) {
            this.network = network;
            this.flatGradient = flatGradient;
        }

        @Override
        public void onGradientCalculation(Model model) {
            if (!model.equals(network.model())) {
                throw new IllegalStateException(
                        """
                        pretraining of single layers is not distributed
                        Pretrain on one rank, before HvdDl4j.distributed, and broadcast the parameters.""");
            }
            if (!(network.updater() instanceof Distributed own
                    && own.flatGradient().equals(flatGradient))) {
                installUpdater();
            }
        }

        private void installUpdater() {
            INDArray state = network.updater().getStateViewArray();
            switch (network) {
                case TrainableNetwork.Layers(MultiLayerNetwork layers) ->
                        layers.setUpdater(new OfLayers(layers, state, flatGradient, this));
                case TrainableNetwork.Graph(ComputationGraph graph) ->
                        graph.setUpdater(new OfGraph(graph, state, flatGradient, this));
            }
        }

        /// `setListeners` of the program has removed it.
        void addAgain() {
            if (!network.listeners().contains(this)) {
                network.addListener(this);
            }
        }
    }

    @SuppressWarnings("serial") // an updater of DL4J is Serializable, but nothing serializes it
    private static final class OfLayers extends MultiLayerUpdater implements Distributed {
        private final transient FlatGradient flatGradient;
        private final transient UpdaterListener listener;

        OfLayers(
                MultiLayerNetwork network,
                @Nullable INDArray state,
                FlatGradient flatGradient,
                UpdaterListener listener) {
            super(network, state);
            this.flatGradient = flatGradient;
            this.listener = listener;
        }

        @Override
        public FlatGradient flatGradient() {
            return flatGradient;
        }

        @Override
        public List<UpdaterBlock> getUpdaterBlocks() {
            listener.addAgain(); // DL4J copies the state to another updater
            return super.getUpdaterBlocks();
        }

        @Override
        public synchronized void update(
                Gradient gradient,
                int iteration,
                int epoch,
                int batchSize,
                LayerWorkspaceMgr workspaceMgr) {
            listener.addAgain();
            flatGradient.reduceAndUpdate(
                    gradient.gradient(),
                    getParams(),
                    batchSize,
                    () -> sums(gradient),
                    isMiniBatch(),
                    () -> super.update(gradient, iteration, epoch, batchSize, workspaceMgr));
        }

        @Override
        protected void divideByMinibatch(boolean isExternal, Gradient gradient, int batchSize) {
            flatGradient.divide(sums(gradient));
        }

        private List<INDArray> sums(Gradient gradient) {
            return getMinibatchDivisionSubsets(gradient.gradient());
        }
    }

    @SuppressWarnings("serial") // an updater of DL4J is Serializable, but nothing serializes it
    private static final class OfGraph extends ComputationGraphUpdater implements Distributed {
        private final transient FlatGradient flatGradient;
        private final transient UpdaterListener listener;

        OfGraph(
                ComputationGraph network,
                @Nullable INDArray state,
                FlatGradient flatGradient,
                UpdaterListener listener) {
            super(network, state);
            this.flatGradient = flatGradient;
            this.listener = listener;
        }

        @Override
        public FlatGradient flatGradient() {
            return flatGradient;
        }

        @Override
        public List<UpdaterBlock> getUpdaterBlocks() {
            listener.addAgain(); // DL4J copies the state to another updater
            return super.getUpdaterBlocks();
        }

        @Override
        public synchronized void update(
                Gradient gradient,
                int iteration,
                int epoch,
                int batchSize,
                LayerWorkspaceMgr workspaceMgr) {
            listener.addAgain();
            flatGradient.reduceAndUpdate(
                    gradient.gradient(),
                    getParams(),
                    batchSize,
                    () -> sums(gradient),
                    isMiniBatch(),
                    () -> super.update(gradient, iteration, epoch, batchSize, workspaceMgr));
        }

        @Override
        protected void divideByMinibatch(boolean isExternal, Gradient gradient, int batchSize) {
            flatGradient.divide(sums(gradient));
        }

        private List<INDArray> sums(Gradient gradient) {
            return getMinibatchDivisionSubsets(gradient.gradient());
        }
    }
}
