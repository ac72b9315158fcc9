package org.horovod4j.dl4j;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;

/// A program without Horovod4J: loads a network, prints what it computes, and trains it further.
final class PlainProgram {
    private PlainProgram() {}

    /// The input of the network.
    static INDArray input(long width) {
        return Nd4j.ones(1, width);
    }

    public static void main(String[] arguments) throws IOException {
        MultiLayerNetwork network = MultiLayerNetwork.load(new File(arguments[0]), true);
        INDArray input = input(network.layerInputSize(0));
        System.out.println("output " + Arrays.toString(network.output(input).toFloatVector()));
        network.fit(input, network.output(input).add(1));
        System.out.println("iterations " + network.getIterationCount());
        try {
            System.out.println(Class.forName("org.horovod4j.Hvd"));
        } catch (ClassNotFoundException e) {
            System.out.println("without Horovod4J");
        }
    }
}
