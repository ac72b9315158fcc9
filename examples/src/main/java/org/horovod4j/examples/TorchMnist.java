package org.horovod4j.examples;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.pytorch.DistributedOptimizer;
import org.horovod4j.pytorch.HvdTorch;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRate;
import org.horovod4j.training.LearningRateSchedule;
import org.horovod4j.training.MetricTotals;
import org.horovod4j.training.TrainingProgress;
import org.horovod4j.training.TrainingProgress.Metric;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/// Trains a network on handwritten digits with PyTorch by `org.bytedeco:pytorch`, on several processes.
///
/// Every process has the whole network and its own part of the images. After each batch the processes
/// average their gradients, so all of them make the same step: training on two processes equals training
/// with batches twice as large. The lines that distributed training adds to a PyTorch program are marked
/// `Horovod 1` to `Horovod 6`.
///
/// ```
/// examples/run.sh TorchMnist [--epochs N] [--data FOLDER] [--model FOLDER]
/// ```
public final class TorchMnist {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final double LEARNING_RATE = 0.001;
    private static final long SEED = 1998;

    private final Network network = new Network();
    private final Adam adam =
            // Horovod 2: n processes average over n times as many images, so the learning rate is n
            // times as large.
            new Adam(network.parameters(), new AdamOptions(LEARNING_RATE * Hvd.size()));
    // Horovod 4: average the gradients of all processes in each step.
    private final DistributedOptimizer optimizer = HvdTorch.distributed(adam, network);

    private TorchMnist() {}

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);

        // Horovod 1: join the other processes. Without a launcher, this process is the whole job.
        HvdTorch.init();
        try {
            TorchMnist mnist = new TorchMnist();
            // Horovod 3: all processes start with the parameters of rank 0.
            HvdTorch.broadcastParameters(mnist.network, 0);
            mnist.train(options);

            // Horovod 6: only rank 0 writes files.
            if (Hvd.rank() == 0) {
                mnist.save(options.model());
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private void train(Options options) throws IOException {
        MnistData training = MnistData.read(options.data(), "train");
        MnistData test = MnistData.read(options.data(), "t10k");
        // Horovod 5: each process gets its part of the images, and all have the same number of
        // steps.
        Shard shard =
                Sampling.shuffled(SEED)
                        .withLastBatch(LastBatch.DROP)
                        .shard(training.count(), BATCH, Hvd.communicator());
        Shard testShard = Sampling.inOrder().shard(test.count(), TEST_BATCH, Hvd.communicator());
        LearningRate schedule =
                LearningRateSchedule.of(
                                (float) LEARNING_RATE * Hvd.size(),
                                new Epochs(shard.stepsPerEpoch()))
                        .smooth(
                                0,
                                options.epochs(),
                                epoch -> (1 + Math.cos(Math.PI * epoch / options.epochs())) / 2);
        TrainingProgress progress =
                TrainingProgress.ofEpochs(options.epochs())
                        .stepsPerEpoch(shard.stepsPerEpoch())
                        .build();
        int update = 0;
        MetricTotals totals = new MetricTotals();
        for (int epoch = 0; epoch < options.epochs(); epoch++) {
            totals = new MetricTotals();
            for (int[] batch : shard.batches(epoch)) {
                totals.add("loss", trainStep(training, batch, schedule.at(++update)));
                totals.add("steps", 1);
                progress.batchDone(batch.length);
            }
            for (int[] batch : testShard.batches(epoch)) {
                totals.add("correct", countCorrect(test, batch));
                totals.add("tested", batch.length);
            }
            totals.sumOverRanks(Hvd.communicator());
            MetricTotals ofEpoch = totals;
            float lastRate = schedule.at(update);
            progress.epochDone(
                    () ->
                            List.of(
                                    new Metric("loss", ofEpoch.ratio("loss", "steps")),
                                    new Metric(
                                            "test accuracy", ofEpoch.ratio("correct", "tested"))),
                    () -> OptionalDouble.of(lastRate));
        }
        progress.trainingDone();
        if (Hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "test accuracy %.2f %% with %d process(es)%n",
                    100 * totals.ratio("correct", "tested"),
                    Hvd.size());
        }
    }

    private float trainStep(MnistData data, int[] batch, float learningRate) {
        try (PointerScope _ = new PointerScope()) { // frees the tensors of this step
            adam.param_groups().get(0).options().set_lr(learningRate);
            optimizer.zeroGrad();
            Tensor loss =
                    torch.nll_loss(
                            network.forward(TorchDigits.images(data, batch)),
                            TorchDigits.labels(data, batch));
            loss.backward();
            optimizer.step();
            return loss.item_float();
        }
    }

    private int countCorrect(MnistData data, int[] batch) {
        try (PointerScope _ = new PointerScope()) {
            return TorchDigits.countCorrect(
                    network.forward(TorchDigits.images(data, batch)),
                    TorchDigits.labels(data, batch));
        }
    }

    /// In Python, `torch.jit.load(file).state_dict()` reads it.
    private void save(Path folder) throws IOException {
        Files.createDirectories(folder);
        try (OutputArchive archive = new OutputArchive()) {
            network.save(archive);
            archive.save_to(folder.resolve("mnist.pt").toString());
        }
        System.out.println("the network is in " + folder.resolve("mnist.pt"));
    }

    /// Two convolutions and two layers.
    private static final class Network extends Module {
        private final Conv2dImpl first =
                register_module("conv1", new Conv2dImpl(convolution(1, 16)));
        private final Conv2dImpl second =
                register_module("conv2", new Conv2dImpl(convolution(16, 32)));
        private final LinearImpl third = register_module("fc1", new LinearImpl(32 * 4 * 4, 128));
        private final LinearImpl fourth = register_module("fc2", new LinearImpl(128, 10));

        Network() {
            super("mnist");
        }

        private static Conv2dOptions convolution(int inputs, int outputs) {
            return new Conv2dOptions(inputs, outputs, new LongPointer(5, 5));
        }

        Tensor forward(Tensor images) {
            Tensor x = torch.max_pool2d(torch.relu(first.forward(images)), 2, 2);
            x = torch.max_pool2d(torch.relu(second.forward(x)), 2, 2);
            x = torch.relu(third.forward(x.flatten(1, 3)));
            return torch.log_softmax(fourth.forward(x), 1);
        }
    }

    private record Options(int epochs, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 3, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "torch-mnist")));
            given.exitIfInvalid(TorchMnist.class);
            return options;
        }
    }
}
