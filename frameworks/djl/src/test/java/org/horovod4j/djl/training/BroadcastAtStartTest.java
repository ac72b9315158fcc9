package org.horovod4j.djl.training;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.Trainer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.training.listener.TrainingListener.BatchData;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class BroadcastAtStartTest {

    @Test
    void initialisedNetworkIsBroadcastOnTrainingBegin() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adam = Optimizer.adam().build();
                        SmallNetwork.train(model, adam, comm.rank());
                        Trainer trainer =
                                trainer(model, new BroadcastAtStart(comm, adam, 1, p -> true));
                        assertThat(areEqual(comm, model)).isTrue();
                        assertThat(OptimizerState.of(adam, model.getBlock()).updates()).isOne();
                        trainer.close();
                    }
                });
    }

    @Test
    void uninitialisedNetworkIsBroadcastOnceBeforeFirstStep() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.model()) {
                        model.getBlock()
                                .setInitializer(new NormalInitializer(1), Parameter.Type.WEIGHT);
                        Optimizer adam = Optimizer.adam().build();
                        BroadcastAtStart listener =
                                new BroadcastAtStart(
                                        comm, adam, 0, name -> !name.equals("04Linear_weight"));
                        Trainer trainer = trainer(model, listener);
                        trainer.initialize(new Shape(1, SmallNetwork.INPUTS));
                        assertThat(areEqual(comm, model)).isFalse();

                        listener.onTrainingBatch(trainer, new BatchData(null, Map.of(), Map.of()));
                        List<List<String>> ranks = comm.allgatherObject("all", contents(model));
                        for (int i = 0; i < ranks.getFirst().size(); i++) {
                            boolean isLocal = ranks.get(0).get(i).startsWith("04Linear_weight");
                            assertThat(ranks.get(0).get(i).equals(ranks.get(1).get(i)))
                                    .isEqualTo(!isLocal);
                        }

                        SmallNetwork.train(model, adam, 1);
                        List<String> trained = contents(model);
                        listener.onTrainingBatch(trainer, new BatchData(null, Map.of(), Map.of()));
                        assertThat(contents(model)).as("not again").isEqualTo(trained);
                        trainer.close();
                    }
                });
    }

    private static Trainer trainer(Model model, BroadcastAtStart listener) {
        return model.newTrainer(
                new DefaultTrainingConfig(Loss.l2Loss()).addTrainingListeners(listener));
    }

    private static boolean areEqual(Communicator comm, Model model) {
        List<List<String>> ranks = comm.allgatherObject("contents", contents(model));
        return ranks.get(0).equals(ranks.get(1));
    }

    private static List<String> contents(Model model) {
        return SmallNetwork.contents(Parameters.arrays(model.getBlock()));
    }
}
