package org.horovod4j.benchmarks.training.dl4j;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/// The network of the example `Dl4jMnist`: two convolutions and two dense layers for ten classes, with
/// 108,874 parameters.
final class ConvolutionalNetwork {
    static final int CLASSES = 10;

    private static final long SEED = 1998;

    private ConvolutionalNetwork() {}

    /// @param side the width and height of the images, in pixels
    static MultiLayerNetwork create(int side, IUpdater updater) {
        MultiLayerNetwork network =
                new MultiLayerNetwork(
                        new NeuralNetConfiguration.Builder()
                                .seed(SEED)
                                .updater(updater)
                                .activation(Activation.RELU)
                                .list()
                                .layer(convolution(5, 16))
                                .layer(convolution(3, 32))
                                .layer(new DenseLayer.Builder().nOut(128).build())
                                .layer(
                                        new OutputLayer.Builder(LossFunction.MCXENT)
                                                .nOut(CLASSES)
                                                .activation(Activation.SOFTMAX)
                                                .build())
                                .setInputType(InputType.convolutional(side, side, 1))
                                .build());
        network.init();
        return network;
    }

    private static ConvolutionLayer convolution(int kernel, int filters) {
        return new ConvolutionLayer.Builder(kernel, kernel).stride(2, 2).nOut(filters).build();
    }
}
