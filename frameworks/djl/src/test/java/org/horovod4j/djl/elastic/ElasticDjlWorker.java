package org.horovod4j.djl.elastic;

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
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;

import java.nio.file.Files;
import java.nio.file.Path;

/// Trains with Adam until a file appears, whose name is the argument, and prints what it has when a
/// generation begins and at the end.
final class ElasticDjlWorker {
    private static final int INPUTS = 6;
    private static final int BATCH = 8;

    private final Model model;
    private final Trainer trainer;
    private final Optimizer optimizer;
    private final ObjectState state;
    private final Path end;

    private ElasticDjlWorker(Model model, Trainer trainer, Optimizer optimizer, Path end) {
        this.model = model;
        this.trainer = trainer;
        this.optimizer = optimizer;
        this.state =
                new ObjectState().with("model", new DjlState(model, optimizer)).with("step", 0);
        this.end = end;
    }

    public static void main(String[] arguments) {
        Hvd.init();
        try (Model model = Model.newInstance("elastic", "PyTorch")) {
            model.setBlock(
                    new SequentialBlock()
                            .add(Linear.builder().setUnits(5).build())
                            .add(Activation::tanh)
                            .add(Linear.builder().setUnits(1).build()));
            Optimizer optimizer = HvdDjl.distributed(Optimizer.adam().build(), model);
            try (Trainer trainer =
                    model.newTrainer(
                            new DefaultTrainingConfig(Loss.l2Loss()).optOptimizer(optimizer))) {
                trainer.initialize(new Shape(BATCH, INPUTS));
                new ElasticDjlWorker(model, trainer, optimizer, Path.of(arguments[0])).run();
            }
        }
        Hvd.shutdown();
    }

    private void run() {
        Elastic.run(state, _ -> train());
        tell("done");
    }

    private void train() {
        tell("begin");
        boolean hasMore = true;
        while (hasMore) {
            step();
            state.set("step", state.getInt("step") + 1);
            float[] isLast = {Files.exists(end) ? 1 : 0}; // not seen by all at once
            Hvd.allreduce("last", isLast, ReduceOp.MAX);
            hasMore = isLast[0] == 0;
            if (hasMore) {
                state.commit();
            }
        }
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

    /// Updates and steps are the same number if each step counts once, here as in the optimizer.
    private void tell(String event) {
        OptimizerState learnt = OptimizerState.of(optimizer, model.getBlock());
        IO.println(
                "%s generation=%d rank=%d size=%d pid=%d step=%d updates=%d arrays=%d content=%08x"
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
                                        ^ SmallNetwork.contents(learnt.arrays()).hashCode()));
    }
}
