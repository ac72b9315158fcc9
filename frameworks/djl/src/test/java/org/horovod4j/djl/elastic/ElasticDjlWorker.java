package org.horovod4j.djl.elastic;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener.BatchData;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.ShardedSampler;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.djl.SyncBatchNorm;
import org.horovod4j.djl.training.Checkpoints;
import org.horovod4j.djl.training.MetricAverage;
import org.horovod4j.djl.training.ProgressListener;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.horovod4j.training.TrainingProgress;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/// Trains with Adam until a file appears, whose name is the argument. Prints its state when a generation
/// begins and at the end.
///
/// Everything is built once, before `init`: layers, listeners and sampler must use the ranks of each
/// generation.
final class ElasticDjlWorker {
    private static final int INPUTS = 6;
    private static final int BATCH = 8;
    private static final int SAMPLES = 48;

    /// Leaves the processors to workers that start.
    private static final Duration STEP_PAUSE = Duration.ofMillis(20);

    private final Model model;
    private final Trainer trainer;
    private final Optimizer optimizer;
    private final ObjectState state;
    private final Path end;
    private final ShardedSampler sampler = ShardedSampler.batches(BATCH).build();
    private String figures = "";

    private ElasticDjlWorker(Model model, Trainer trainer, Optimizer optimizer, Path end) {
        this.model = model;
        this.trainer = trainer;
        this.optimizer = optimizer;
        this.state =
                new ObjectState()
                        .with("model", new DjlState(model, optimizer).inBackground())
                        .with("step", 0);
        this.end = end;
    }

    public static void main(String[] arguments) {
        Path end = Path.of(arguments[0]);
        try (Model model = Model.newInstance("elastic", "PyTorch")) {
            model.setBlock(
                    new SequentialBlock()
                            .add(Linear.builder().setUnits(5).build())
                            .add(SyncBatchNorm.builder().setName("norm").build())
                            .add(Activation::tanh)
                            .add(Linear.builder().setUnits(1).build()));
            Optimizer optimizer =
                    HvdDjl.distributed(
                            Optimizer.adam().build(), model, options -> options.overlap(true));
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.l2Loss())
                            .optOptimizer(optimizer)
                            .addTrainingListeners(
                                    new MetricAverage(),
                                    new EvaluatorTrainingListener(),
                                    new ProgressListener(TrainingProgress.endless().build()),
                                    Checkpoints.in(end.resolveSibling("checkpoints"))
                                            .optimizer(optimizer)
                                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(BATCH, INPUTS));
                new ElasticDjlWorker(model, trainer, optimizer, end).run();
            }
        }
        Hvd.shutdown();
    }

    private void run() {
        if (Elastic.run(state, _ -> train())) {
            printEvent("done");
        }
    }

    private void train() {
        epoch();
        printEvent("begin");
        boolean hasMore = true;
        while (hasMore) {
            step();
            state.set("step", state.getInt("step") + 1);
            float[] isLast = {Files.exists(end) ? 1 : 0}; // not seen by all at once
            Hvd.allreduce("last", isLast, ReduceOp.MAX);
            hasMore = isLast[0] == 0;
            if (hasMore) {
                state.commit();
                LockSupport.parkNanos(STEP_PAUSE.toNanos());
            }
        }
    }

    /// An epoch of one batch for the listeners, in which rank r has an error of r + 1.
    private void epoch() {
        try (NDManager manager = model.getNDManager().newSubManager()) {
            NDList labels = new NDList(manager.full(new Shape(BATCH, 1), Hvd.rank() + 1f));
            NDList outputs = new NDList(manager.zeros(new Shape(BATCH, 1)));
            Batch batch = new Batch(manager, outputs, labels, BATCH, null, null, 0, SAMPLES);
            BatchData data =
                    new BatchData(
                            batch,
                            new ConcurrentHashMap<>(Map.of(Device.cpu(), labels)),
                            new ConcurrentHashMap<>(Map.of(Device.cpu(), outputs)));
            trainer.notifyListeners(listener -> listener.onTrainingBatch(trainer, data));
            trainer.notifyListeners(listener -> listener.onEpoch(trainer));
        }
        figures =
                "loss=%.3f batches=%d"
                        .formatted(
                                trainer.getTrainingResult().getEvaluations().get("train_loss"),
                                sampler.stepsPerEpoch(SAMPLES));
    }

    private void step() {
        try (NDManager batch = model.getNDManager().newSubManager();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDArray inputs = batch.randomNormal(new Shape(BATCH, INPUTS));
            NDArray sums = inputs.sum(new int[] {1}, true);
            NDList outputs = trainer.forward(new NDList(inputs));
            collector.backward(trainer.getLoss().evaluate(new NDList(sums), outputs));
        }
        trainer.step();
    }

    /// The numbers of updates and steps are equal if each step counts once in the optimizer too.
    private void printEvent(String event) {
        OptimizerState learnt = OptimizerState.of(optimizer, model.getBlock());
        IO.println(
                "%s generation=%d rank=%d size=%d pid=%d step=%d updates=%d arrays=%d content=%08x %s"
                        .formatted(
                                event,
                                Hvd.membership().generation(),
                                Hvd.rank(),
                                Hvd.size(),
                                ProcessHandle.current().pid(),
                                state.getInt("step"),
                                learnt.updates(),
                                learnt.arrays().size(),
                                SmallNetwork.contents(Parameters.arrays(model.getBlock()))
                                                .hashCode()
                                        ^ SmallNetwork.contents(learnt.arrays()).hashCode(),
                                figures));
    }
}
