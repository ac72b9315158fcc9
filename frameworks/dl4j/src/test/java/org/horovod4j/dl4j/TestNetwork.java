package org.horovod4j.dl4j;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.function.UnaryOperator;

/// Small networks of every kind, and data that a formula gives.
public enum TestNetwork {
    DENSE {
        @Override
        public Model create(long seed) {
            return layers(seed, builder -> builder.updater(new Adam(0.01)).l2(0.01));
        }
    },
    SGD {
        @Override
        public Model create(long seed) {
            return layers(seed, builder -> builder.updater(new Sgd(0.1)));
        }
    },
    WITHOUT_WORKSPACES {
        @Override
        public Model create(long seed) {
            return layers(
                    seed,
                    builder ->
                            builder.updater(new Adam(0.01))
                                    .trainingWorkspaceMode(WorkspaceMode.NONE));
        }
    },
    CLIPPED {
        @Override
        public Model create(long seed) {
            return layers(
                    seed,
                    builder ->
                            builder.updater(new Sgd(0.1))
                                    .gradientNormalization(GradientNormalization.ClipL2PerLayer)
                                    .gradientNormalizationThreshold(0.05));
        }
    },
    NORMALIZED {
        @Override
        public Model create(long seed) {
            return layers(
                    seed,
                    builder ->
                            builder.updater(new Sgd(0.1))
                                    .gradientNormalization(
                                            GradientNormalization.RenormalizeL2PerLayer));
        }
    },
    SUMS {
        @Override
        public Model create(long seed) {
            return layers(seed, builder -> builder.updater(new Sgd(0.01)).miniBatch(false));
        }
    },
    DOUBLE {
        @Override
        public Model create(long seed) {
            return layers(
                    seed, builder -> builder.updater(new Adam(0.01)).dataType(DataType.DOUBLE));
        }
    },
    FROZEN {
        @Override
        public Model create(long seed) {
            return initialized(
                    adam(seed)
                            .list()
                            .layer(new FrozenLayer(dense()))
                            .layer(output(HIDDEN))
                            .build());
        }
    },
    RECURRENT {
        @Override
        public Model create(long seed) {
            return initialized(
                    adam(seed)
                            .list()
                            .layer(memory())
                            .layer(recurrentOutput())
                            .backpropType(BackpropType.TruncatedBPTT)
                            .tBPTTLength(3)
                            .build());
        }

        @Override
        public DataSet batch(int from, int to) {
            return new DataSet(numbers(from, to, INPUTS, TIMES), numbers(from, to, OUTPUTS, TIMES));
        }
    },
    GRAPH {
        @Override
        public Model create(long seed) {
            return initialized(
                    adam(seed)
                            .graphBuilder()
                            .addInputs("in")
                            .addLayer("hidden", dense(), "in")
                            .addLayer("out", output(HIDDEN), "hidden")
                            .setOutputs("out")
                            .build());
        }
    },
    FROZEN_GRAPH {
        @Override
        public Model create(long seed) {
            return initialized(
                    adam(seed)
                            .graphBuilder()
                            .addInputs("in")
                            .addLayer("hidden", new FrozenLayer(dense()), "in")
                            .addLayer("out", output(HIDDEN), "hidden")
                            .setOutputs("out")
                            .build());
        }
    },
    RECURRENT_GRAPH {
        @Override
        public Model create(long seed) {
            return initialized(
                    adam(seed)
                            .graphBuilder()
                            .addInputs("in")
                            .addLayer("memory", memory(), "in")
                            .addLayer("out", recurrentOutput(), "memory")
                            .setOutputs("out")
                            .backpropType(BackpropType.TruncatedBPTT)
                            .tBPTTForwardLength(3)
                            .tBPTTBackwardLength(3)
                            .build());
        }

        @Override
        public DataSet batch(int from, int to) {
            return RECURRENT.batch(from, to);
        }
    },
    /// Sequences of different lengths.
    MASKED {
        @Override
        public Model create(long seed) {
            return RECURRENT.create(seed);
        }

        @Override
        public DataSet batch(int from, int to) {
            DataSet whole = RECURRENT.batch(from, to);
            INDArray mask = Nd4j.ones(to - from, TIMES);
            for (int i = from; i < to; i++) {
                for (int time = 1 + i % TIMES; time < TIMES; time++) {
                    mask.putScalar(i - from, time, 0);
                }
            }
            return new DataSet(whole.getFeatures(), whole.getLabels(), mask, mask.dup());
        }
    },
    /// The statistics of a batch are those of one rank, so two ranks do not train as one process.
    BATCH_NORM {
        @Override
        public Model create(long seed) {
            return initialized(
                    adam(seed)
                            .list()
                            .layer(
                                    new ConvolutionLayer.Builder(2, 2)
                                            .nOut(3)
                                            .activation(Activation.RELU)
                                            .build())
                            .layer(new BatchNormalization())
                            .layer(output(0))
                            .setInputType(InputType.convolutional(4, 4, 1))
                            .build());
        }

        @Override
        public DataSet batch(int from, int to) {
            return new DataSet(
                    numbers(from, to, 16, 1).reshape(to - from, 1, 4, 4),
                    numbers(from, to, OUTPUTS, 1).reshape(to - from, OUTPUTS));
        }
    };

    static final int INPUTS = 4;
    static final int HIDDEN = 5;
    static final int OUTPUTS = 2;
    private static final int TIMES = 6;

    /// An initialised network.
    ///
    /// @param seed of its parameters
    public abstract Model create(long seed);

    /// Samples `from` to `to` of the data.
    public DataSet batch(int from, int to) {
        return new DataSet(
                numbers(from, to, INPUTS, 1).reshape(to - from, INPUTS),
                numbers(from, to, OUTPUTS, 1).reshape(to - from, OUTPUTS));
    }

    static INDArray numbers(int from, int to, int width, int times) {
        float[] numbers = new float[(to - from) * width * times];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) Math.sin(1 + 7.3 * (from * width * times + i) + width);
        }
        return Nd4j.create(numbers, new int[] {to - from, width, times}, 'c');
    }

    private static MultiLayerNetwork layers(
            long seed, UnaryOperator<NeuralNetConfiguration.Builder> options) {
        return initialized(
                options.apply(new NeuralNetConfiguration.Builder().seed(seed))
                        .list()
                        .layer(dense())
                        .layer(output(HIDDEN))
                        .build());
    }

    private static NeuralNetConfiguration.Builder adam(long seed) {
        return new NeuralNetConfiguration.Builder().seed(seed).updater(new Adam(0.01));
    }

    private static MultiLayerNetwork initialized(MultiLayerConfiguration configuration) {
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    private static ComputationGraph initialized(ComputationGraphConfiguration configuration) {
        ComputationGraph graph = new ComputationGraph(configuration);
        graph.init();
        return graph;
    }

    private static LSTM memory() {
        return new LSTM.Builder().nIn(INPUTS).nOut(HIDDEN).build();
    }

    private static RnnOutputLayer recurrentOutput() {
        return new RnnOutputLayer.Builder(LossFunction.MSE)
                .dataFormat(RNNFormat.NCW)
                .nIn(HIDDEN)
                .nOut(OUTPUTS)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static DenseLayer dense() {
        return new DenseLayer.Builder()
                .nIn(INPUTS)
                .nOut(HIDDEN)
                .activation(Activation.TANH)
                .build();
    }

    private static OutputLayer output(int inputs) {
        return new OutputLayer.Builder(LossFunction.MSE)
                .nIn(inputs)
                .nOut(OUTPUTS)
                .activation(Activation.IDENTITY)
                .build();
    }

    public static void fit(Model model, DataSet batch) {
        switch (model) {
            case MultiLayerNetwork network -> network.fit(batch);
            case ComputationGraph graph -> graph.fit(batch);
            default -> throw new IllegalArgumentException(model.toString());
        }
    }

    public static float[] parameters(Model model) {
        return model.params().dup().data().asFloat();
    }
}
