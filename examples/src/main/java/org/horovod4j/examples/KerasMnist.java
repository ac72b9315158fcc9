package org.horovod4j.examples;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.Hvd;
import org.horovod4j.checkpoint.BestMetric;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.dl4j.SampledDataSetIterator;
import org.horovod4j.dl4j.keras.KerasModels;
import org.horovod4j.dl4j.training.Checkpoints;
import org.horovod4j.dl4j.training.ProgressListener;
import org.horovod4j.dl4j.training.ScoreAverage;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRateWarmup;
import org.horovod4j.training.TrainingProgress;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;

/// Trains a network that Keras has written, on several processes: Horovod's "MNIST with Keras".
///
/// The file has the network, its weights, the loss and the optimizer with its learning rate. The
/// callbacks of Horovod are listeners here. The best network is saved for programs without Horovod4J.
///
/// ```
/// examples/run.sh KerasMnist [--epochs N] [--data FOLDER] [--network FILE] [--model FOLDER]
/// ```
public final class KerasMnist {
    private static final long SEED = 1998;

    private KerasMnist() {}

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);

        // Horovod 1: join the other processes. Without a launcher, this process is the whole job.
        Hvd.init();
        SampledDataSetIterator own =
                Dl4jDigits.shuffled(MnistData.read(options.data(), "train"), SEED);
        SampledDataSetIterator ownTest = Dl4jDigits.inOrder(MnistData.read(options.data(), "t10k"));

        MultiLayerNetwork network = KerasModels.loadSequential(options.network());
        // Horovod 3: the learning rate of the file, times the number of processes, after a warm-up.
        float rate = network.getLearningRate(0).floatValue() * Hvd.size();
        int steps = own.stepsPerEpoch();
        network.setLearningRate(
                HvdDl4j.schedule(
                        LearningRateWarmup.to(rate, Hvd.size(), 1, new Epochs(steps)),
                        steps * options.epochs()));

        // Horovod 5: all processes start with the network of rank 0, or with its checkpoint.
        Checkpoints checkpoints =
                new Checkpoints(options.model().resolve("checkpoints"))
                        .saveBest(
                                options.model().resolve("best.zip"),
                                BestMetric.Mode.MAX,
                                _ -> HvdDl4j.evaluate(network, ownTest).accuracy());
        int done = checkpoints.resume(network);
        own.startAt(done);
        // Horovod 4: average the gradients of all processes in each step.
        HvdDl4j.distributed(network);

        TrainingProgress progress =
                TrainingProgress.ofEpochs(options.epochs()).stepsPerEpoch(steps).build();
        progress.resumeAt(done);
        // Horovod 6 is in the listener: only rank 0 writes files.
        network.addListeners(new ScoreAverage(), checkpoints, new ProgressListener(progress));
        if (done < options.epochs()) {
            network.fit(own, options.epochs() - done);
        }
        progress.trainingDone();
        double accuracy = HvdDl4j.evaluate(network, ownTest).accuracy();
        if (Hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "test accuracy %.2f %% with %d process(es)%n",
                    100 * accuracy,
                    Hvd.size());
            System.out.println("the best network is in " + options.model().resolve("best.zip"));
        }
        Hvd.shutdown();
    }

    private record Options(int epochs, Path data, Path network, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 4, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path(
                                    "--network",
                                    Path.of("examples", "data", "keras", "mnist.keras")),
                            given.path("--model", Path.of("target", "keras-mnist")));
            given.exitIfInvalid(KerasMnist.class);
            return options;
        }
    }
}
