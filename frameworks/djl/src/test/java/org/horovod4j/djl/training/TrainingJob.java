package org.horovod4j.djl.training;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Sampler;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.initializer.XavierInitializer;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.TranslateException;

import org.horovod4j.Communicator;
import org.horovod4j.djl.DjlProcesses;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.ShardedSampler;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRate;
import org.horovod4j.training.LearningRateSchedule;
import org.horovod4j.training.LearningRateWarmup;
import org.horovod4j.training.TrainingProgress;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/// A training with every listener, as a user would write it, with a small network and few data.
///
/// @param folder for checkpoints
/// @param epochs including those of a previous job
public record TrainingJob(String folder, int epochs) {
    static final int TRAIN_SAMPLES = 237; // batch norm: no rank of 4 may end with a batch of one
    static final int TEST_SAMPLES = 75;
    static final int BATCH_SIZE = 8;

    /// Processes that compute with one thread each.
    public static Launcher ranks(int count) {
        return DjlProcesses.launcher(
                        count,
                        "-Xmx512m",
                        "-Dai.djl.offline=true",
                        "-Dai.djl.default_engine=PyTorch",
                        "--sun-misc-unsafe-memory-access=allow")
                .environment(Map.of("OMP_NUM_THREADS", "1"));
    }

    /// The result of a rank.
    ///
    /// @param resumedAt complete epochs at the start
    /// @param start parameters and optimizer state at the start
    /// @param end parameters and optimizer state at the end
    /// @param updates of the optimizer
    /// @param figures the metrics of the trainer
    /// @param correct the correct samples in this rank's part of the validation set, at the end
    /// @param scores of one input
    /// @param output the printed text
    public record Result(
            int resumedAt,
            List<String> start,
            List<String> end,
            int updates,
            Map<String, Float> figures,
            int correct,
            List<Float> scores,
            String output) {}

    public Result run(Communicator comm) throws IOException, TranslateException {
        Engine.getInstance().setRandomSeed(100 + comm.rank());
        try (Model model = SmallNetwork.model();
                NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            model.getBlock().setInitializer(new XavierInitializer(), Parameter.Type.WEIGHT);
            ShardedSampler sampler = HvdDjl.sampler(BATCH_SIZE);
            ArrayDataset train = data(manager, TRAIN_SAMPLES, 1, sampler);
            ArrayDataset test =
                    data(
                            manager,
                            TEST_SAMPLES,
                            2,
                            ShardedSampler.batches(BATCH_SIZE).inOrder().build());
            Epochs steps = new Epochs(sampler.stepsPerEpoch(train.size()));
            LearningRate schedule =
                    LearningRateWarmup.to(0.05f * comm.size(), comm.size(), 1, steps)
                            .then(
                                    LearningRateSchedule.of(0.05f * comm.size(), steps)
                                            .multiplyFrom(2, 0.5));
            Tracker rate = schedule::at;
            Optimizer optimizer =
                    HvdDjl.distributed(
                            Optimizer.sgd().setLearningRateTracker(rate).optMomentum(0.8f).build(),
                            model);
            Checkpoints checkpoints =
                    Checkpoints.in(Path.of(folder))
                            .optimizer(optimizer)
                            .sampler(sampler)
                            .epochs(steps)
                            .keep(2)
                            .best("validate_Accuracy")
                            .build();
            ByteArrayOutputStream output = new ByteArrayOutputStream();
            TrainingProgress progress =
                    TrainingProgress.ofEpochs(epochs)
                            .stepsPerEpoch(steps.stepsPerEpoch())
                            .singleProcessThroughput(1000)
                            .output(new PrintStream(output, true, StandardCharsets.UTF_8), false)
                            .build();
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                            .addEvaluator(new Accuracy())
                            .optOptimizer(optimizer)
                            .optDevices(new Device[] {HvdDjl.device()})
                            .addTrainingListeners(
                                    new MetricAverage(),
                                    new BroadcastAtStart(optimizer, 0),
                                    new MomentumCorrection(optimizer, model, rate))
                            .addTrainingListeners(TrainingListener.Defaults.basic())
                            .addTrainingListeners(
                                    checkpoints,
                                    new ProgressListener(progress).learningRate(optimizer, rate));
            Trainer trainer = model.newTrainer(config);
            try {
                trainer.initialize(new Shape(1, SmallNetwork.INPUTS));
                int done = checkpoints.resume(trainer);
                progress.resumeAt(done);
                List<String> start = state(model, optimizer);
                EasyTrain.fit(trainer, epochs - done, train, test);
                Map<String, Float> figures =
                        new TreeMap<>(trainer.getTrainingResult().getEvaluations());
                int correct = correct(trainer, comm);
                NDList input = new NDList(manager.create(new float[][] {{1, 2, 3, 4, 5, 6}}));
                float[] scores = trainer.evaluate(input).head().toFloatArray();
                trainer.close();
                if (comm.rank() == 0) {
                    model.save(Path.of(folder, "final"), "small");
                }
                return new Result(
                        done,
                        start,
                        state(model, optimizer),
                        OptimizerState.of(optimizer, model.getBlock()).updates(),
                        figures,
                        correct,
                        List.of(scores[0], scores[1], scores[2]),
                        output.toString(StandardCharsets.UTF_8));
            } finally {
                trainer.close();
            }
        }
    }

    private static List<String> state(Model model, Optimizer optimizer) {
        Map<String, NDArray> arrays = Parameters.arrays(model.getBlock());
        arrays.putAll(OptimizerState.of(optimizer, model.getBlock()).arrays());
        return SmallNetwork.contents(arrays);
    }

    private static int correct(Trainer trainer, Communicator comm) {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            float[][] inputs = inputs(TEST_SAMPLES, 2);
            NDArray scores = trainer.evaluate(new NDList(manager.create(inputs))).head();
            long[] found = scores.argMax(1).toLongArray();
            int correct = 0;
            for (int i = comm.rank(); i < found.length; i += comm.size()) {
                correct += found[i] == label(inputs[i]) ? 1 : 0;
            }
            return correct;
        }
    }

    private static float[][] inputs(int count, int seed) {
        Random random = new Random(seed);
        float[][] inputs = new float[count][SmallNetwork.INPUTS];
        for (float[] input : inputs) {
            for (int i = 0; i < input.length; i++) {
                input[i] = (float) random.nextGaussian();
            }
        }
        return inputs;
    }

    private static int label(float[] input) {
        float sum = input[0] + input[1] - input[2];
        return sum < -0.7 ? 0 : sum < 0.7 ? 1 : 2;
    }

    private static ArrayDataset data(NDManager manager, int count, int seed, Sampler sampler) {
        float[][] inputs = inputs(count, seed);
        float[] labels = new float[count];
        for (int i = 0; i < count; i++) {
            labels[i] = label(inputs[i]);
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(inputs))
                .optLabels(manager.create(labels))
                .setSampling(sampler)
                .build();
    }
}
