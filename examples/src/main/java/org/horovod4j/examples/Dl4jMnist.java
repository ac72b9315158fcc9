package org.horovod4j.examples;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.Hvd;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.dl4j.SampledDataSetIterator;
import org.horovod4j.dl4j.training.ProgressListener;
import org.horovod4j.dl4j.training.ScoreAverage;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRate;
import org.horovod4j.training.LearningRateSchedule;
import org.horovod4j.training.TrainingProgress;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/// Trains a network on handwritten digits with Deeplearning4j, on several processes.
///
/// Every process has the whole network and its own part of the images. In each step the processes
/// average their gradients, so all of them change the network alike: training on two processes equals
/// training with batches twice as large. The lines that distributed training adds to a DL4J program are
/// marked `Horovod 1` to `Horovod 6`; step 2, a device for each process, is not needed on CPUs.
///
/// ```
/// examples/run.sh Dl4jMnist [--epochs N] [--data FOLDER] [--model FOLDER]
/// ```
public final class Dl4jMnist {
    private static final float LEARNING_RATE = 0.001f;
    private static final long SEED = 1998;

    private Dl4jMnist() {}

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);

        // Horovod 1: join the other processes. Without a launcher, this process is the whole job.
        Hvd.init();
        MnistData training = MnistData.read(options.data(), "train");
        // Each process gets its part of the images, and all have the same number of steps.
        SampledDataSetIterator own = Dl4jDigits.shuffled(training, SEED);
        // Horovod 3: n processes average over n times as many images, so the learning rate is
        // n times as large.
        LearningRate rate = rate(LEARNING_RATE * Hvd.size(), own.stepsPerEpoch(), options.epochs());
        MultiLayerNetwork network =
                network(new Adam(HvdDl4j.schedule(rate, own.stepsPerEpoch() * options.epochs())));
        // Horovod 5: all processes start with the parameters of rank 0.
        HvdDl4j.broadcastParameters(network, 0);
        // Horovod 4: average the gradients of all processes in each step.
        HvdDl4j.distributed(network);

        TrainingProgress progress =
                TrainingProgress.ofEpochs(options.epochs())
                        .stepsPerEpoch(own.stepsPerEpoch())
                        .build();
        network.addListeners(new ScoreAverage(), new ProgressListener(progress));
        network.fit(own, options.epochs());
        progress.trainingDone();

        MnistData test = MnistData.read(options.data(), "t10k");
        Evaluation evaluation = HvdDl4j.evaluate(network, Dl4jDigits.inOrder(test));
        // Horovod 6: only rank 0 writes files.
        if (Hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "test accuracy %.2f %% with %d process(es)%n",
                    100 * evaluation.accuracy(),
                    Hvd.size());
            Files.createDirectories(options.model());
            network.save(options.model().resolve("mnist.zip").toFile());
            System.out.println("the network is in " + options.model());
        }
        Hvd.shutdown();
    }

    private static LearningRate rate(float first, int stepsPerEpoch, int epochs) {
        return LearningRateSchedule.of(first, new Epochs(stepsPerEpoch))
                .smooth(0, epochs, epoch -> (1 + Math.cos(Math.PI * epoch / epochs)) / 2);
    }

    /// Two convolutional layers, each of which halves height and width, and two fully connected layers.
    static MultiLayerNetwork network(Adam updater) {
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
                                                .nOut(10)
                                                .activation(Activation.SOFTMAX)
                                                .build())
                                .setInputType(Dl4jDigits.INPUT)
                                .build());
        network.init();
        return network;
    }

    private static ConvolutionLayer convolution(int kernel, int filters) {
        return new ConvolutionLayer.Builder(kernel, kernel).stride(2, 2).nOut(filters).build();
    }

    private record Options(int epochs, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 3, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "dl4j-mnist")));
            given.exitIfInvalid(Dl4jMnist.class);
            return options;
        }
    }
}
