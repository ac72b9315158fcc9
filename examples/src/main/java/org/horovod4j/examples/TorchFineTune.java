package org.horovod4j.examples;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.pytorch.DistributedOptimizer;
import org.horovod4j.pytorch.HvdTorch;
import org.horovod4j.pytorch.TorchParameters;
import org.horovod4j.training.MetricTotals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/// Trains a network further that was written and trained in Python, with PyTorch by `org.bytedeco:pytorch` on
/// several processes. The network knows the digits 0 to 4; with one more layer it learns all ten.
///
/// ```
/// examples/run.sh TorchFineTune [--network FILE] [--epochs N] [--data FOLDER] [--model FOLDER]
/// ```
public final class TorchFineTune {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final int FEATURES = 64;
    private static final int DIGITS = 10;
    private static final double LEARNING_RATE = 0.001;
    private static final long SEED = 7;

    private final JitModule network;
    private final DistributedOptimizer optimizer;

    private TorchFineTune(Path features) {
        network = withNewLayer(torch.load(features.toString()));
        TensorVector parameters =
                new TensorVector(TorchParameters.named(network).values().toArray(Tensor[]::new));
        Adam adam = new Adam(parameters, new AdamOptions(LEARNING_RATE * Hvd.size()));
        optimizer = HvdTorch.distributed(adam, network);
    }

    /// TorchScript with both, so that one file has the whole network.
    private static JitModule withNewLayer(JitModule features) {
        JitModule network = new JitModule(new QualifiedName("__torch__.Digits"));
        network.register_module("features", features);
        LinearImpl layer = new LinearImpl(FEATURES, DIGITS);
        network.register_parameter("weight", layer.weight(), false);
        network.register_parameter("bias", layer.bias(), false);
        network.define(
                """
                def forward(self, images):
                    return torch.linear(self.features.forward(images), self.weight, self.bias)
                """);
        return network;
    }

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);
        HvdTorch.init();
        try {
            TorchFineTune program = new TorchFineTune(options.network());
            // All processes have loaded the same file, but the new layer is random.
            HvdTorch.broadcastParameters(program.network, 0);
            program.train(options);
            if (Hvd.rank() == 0) {
                Files.createDirectories(options.model());
                Path file = options.model().resolve("digits.pt");
                program.network.save(file.toString());
                System.out.println("the network is in " + file);
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private void train(Options options) throws IOException {
        MnistData training = MnistData.read(options.data(), "train");
        MnistData test = MnistData.read(options.data(), "t10k");
        Shard shard =
                Sampling.shuffled(SEED)
                        .withLastBatch(LastBatch.DROP)
                        .shard(training.count(), BATCH, Hvd.communicator());
        Shard testShard = Sampling.inOrder().shard(test.count(), TEST_BATCH, Hvd.communicator());
        for (int epoch = 0; epoch < options.epochs(); epoch++) {
            network.train();
            for (int[] batch : shard.batches(epoch)) {
                trainStep(training, batch);
            }
            network.eval();
            MetricTotals totals = new MetricTotals();
            for (int[] batch : testShard.batches(epoch)) {
                totals.add("correct", TorchDigits.countCorrect(network, test, batch));
                totals.add("tested", batch.length);
            }
            totals.sumOverRanks(Hvd.communicator());
            if (Hvd.rank() == 0) {
                System.out.printf(
                        Locale.ROOT,
                        "test accuracy %.2f %% with %d process(es)%n",
                        100 * totals.ratio("correct", "tested"),
                        Hvd.size());
            }
        }
    }

    private void trainStep(MnistData data, int[] batch) {
        try (PointerScope _ = new PointerScope()) { // frees the tensors of this step
            optimizer.zeroGrad();
            torch.cross_entropy(
                            TorchDigits.forward(network, TorchDigits.images(data, batch)),
                            TorchDigits.labels(data, batch))
                    .backward();
            optimizer.step();
        }
    }

    private record Options(Path network, int epochs, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.file(
                                    "--network",
                                    Path.of("examples", "data", "torchscript", "features.pt")),
                            given.number("--epochs", 1, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "torch-fine-tune")));
            given.exitIfInvalid(TorchFineTune.class);
            return options;
        }
    }
}
