package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.Communicator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.List;
import java.util.Map;

/// Two processes whose optimizers have different states, and then get the state of one of them.
class OptimizerStateIT {
    private static final int ROOT = 1;

    /// Optimizers whose state affects the next step.
    enum OptimizerKind {
        ADAM,
        MOMENTUM;

        Optimizer build() {
            Tracker rate = Tracker.fixed(0.1f);
            return switch (this) {
                case ADAM -> Optimizer.adam().optLearningRateTracker(rate).build();
                case MOMENTUM ->
                        Optimizer.sgd().setLearningRateTracker(rate).optMomentum(0.9f).build();
            };
        }
    }

    /// Parameters and optimizer state of a rank.
    public record TrainedState(
            List<String> weights, List<String> slots, OptimizerState.Counts counts) {
        static TrainedState of(Model model, Optimizer optimizer) {
            OptimizerState state = OptimizerState.of(optimizer, model.getBlock());
            Map<String, NDArray> weights = Parameters.arrays(model.getBlock());
            weights.keySet().removeIf(name -> name.contains("running")); // of a rank's own samples
            return new TrainedState(
                    SmallNetwork.contents(weights),
                    SmallNetwork.contents(state.arrays()),
                    state.counts());
        }
    }

    /// The state of a rank at the start, after the broadcast, and after a step.
    public record Result(TrainedState start, TrainedState broadcast, TrainedState end) {}

    @ParameterizedTest
    @EnumSource
    void ranksStepIdenticallyAfterBroadcast(OptimizerKind optimizerKind) {
        List<Result> results = TestTraining.ranks(2).run(comm -> train(comm, optimizerKind));

        Result root = results.get(ROOT);
        Result other = results.get(1 - ROOT);
        assertThat(other.start().slots()).isNotEqualTo(root.start().slots());
        assertThat(other.start().counts()).isNotEqualTo(root.start().counts());
        assertThat(other.broadcast()).isEqualTo(root.broadcast()).isEqualTo(root.start());
        assertThat(other.end()).isEqualTo(root.end());
        assertThat(root.end().weights()).isNotEqualTo(root.start().weights());
        assertThat(root.end().slots()).isNotEqualTo(root.start().slots());
    }

    private static Result train(Communicator comm, OptimizerKind optimizerKind) {
        try (Model model = SmallNetwork.initialised()) {
            model.getNDManager().getEngine().setRandomSeed(7 + comm.rank());
            Optimizer own = optimizerKind.build();
            SmallNetwork.train(model, own, 2 + comm.rank()); // each rank for itself
            Optimizer optimizer = HvdDjl.distributed(own, model);
            TrainedState start = TrainedState.of(model, optimizer);

            HvdDjl.broadcastParameters(model, ROOT);
            HvdDjl.broadcastOptimizerState(optimizer, model, ROOT);
            TrainedState broadcast = TrainedState.of(model, optimizer);

            SmallNetwork.step(model, optimizer); // each rank on samples of its own
            return new Result(start, broadcast, TrainedState.of(model, optimizer));
        }
    }
}
