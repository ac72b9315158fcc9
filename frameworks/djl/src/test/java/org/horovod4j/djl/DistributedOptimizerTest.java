package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;

import org.horovod4j.Communicator;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.function.Function;

/// What one rank can show; the rest takes several processes.
class DistributedOptimizerTest {
    private static Trial trial(Block block, Communicator comm) {
        return new Trial(block, b -> wrap(b, comm), Trial.INPUT);
    }

    private static DistributedOptimizer wrap(Block block, Communicator comm) {
        return DistributedOptimizer.wrap(Trial.sgd(), block).communicator(comm).build();
    }

    @Test
    void aloneItStepsAsTheWrappedOptimizerDoes() {
        World.run(
                1,
                comm -> {
                    try (Trial trial = trial(Trial.network(), comm);
                            Trial plain =
                                    new Trial(Trial.network(), _ -> Trial.sgd(), Trial.INPUT)) {
                        for (int step = 0; step < 3; step++) {
                            trial.pass(step * 4, step * 4 + 4);
                            trial.step();
                            plain.pass(step * 4, step * 4 + 4);
                            plain.step();
                        }
                        assertThat(trial.weights()).containsExactly(plain.weights());
                    }
                });
    }

    /// Its arrays have no gradients until the trainer is made, which wants the optimizer first.
    @Test
    void aNetworkThatWasLoadedIsTrained(@TempDir Path folder) {
        World.run(
                1,
                comm -> {
                    try (Trial saved = trial(Trial.network(), comm)) {
                        saved.pass(0, 4);
                        saved.step();
                        saved.save(folder);
                    }
                    try (Trial trial = Trial.loaded(folder, block -> wrap(block, comm));
                            Trial plain = Trial.loaded(folder, _ -> Trial.sgd())) {
                        float[] before = trial.weights();
                        for (int step = 0; step < 3; step++) {
                            trial.pass(step * 4, step * 4 + 4);
                            trial.step();
                            plain.pass(step * 4, step * 4 + 4);
                            plain.step();
                        }
                        assertThat(trial.weights())
                                .isNotEqualTo(before)
                                .containsExactly(plain.weights());
                        assertThat(trial.optimizer().overlap().isUsed()).isTrue();
                    }
                });
    }

    /// As a model of TorchScript is when it is loaded.
    @Test
    void aNetworkMayThawAfterTheOptimizerWasBuilt() {
        World.run(
                1,
                comm -> {
                    Function<Block, DistributedOptimizer> whileFrozen =
                            block -> {
                                block.freezeParameters(true);
                                DistributedOptimizer optimizer = wrap(block, comm);
                                block.freezeParameters(false);
                                return optimizer;
                            };
                    try (Trial trial = new Trial(Trial.network(), whileFrozen, Trial.INPUT)) {
                        float[] before = trial.weights();
                        trial.pass(0, 4);
                        trial.step();
                        assertThat(trial.weights()).isNotEqualTo(before);
                    }
                });
    }

    @Test
    void aBlockThatIsUsedTwiceIsUpdatedOnce() {
        World.run(
                1,
                comm -> {
                    try (Trial trial = trial(tied(), comm);
                            Trial plain = new Trial(tied(), _ -> Trial.sgd(), Trial.INPUT)) {
                        assertThat(trial.names()).hasSize(6);
                        assertThat(new BlockParameters(trial.model.getBlock()).names())
                                .containsExactly(
                                        "01Linear_weight",
                                        "01Linear_bias",
                                        "03Linear_weight",
                                        "03Linear_bias");
                        trial.pass(0, 4);
                        trial.step();
                        plain.pass(0, 4);
                        plain.step();
                        assertThat(trial.weights()).containsExactly(plain.weights());
                    }
                });
    }

    private static Block tied() {
        Block shared = Linear.builder().setUnits(Trial.INPUTS).build();
        return new SequentialBlock()
                .add(shared)
                .add(shared)
                .add(Linear.builder().setUnits(Trial.OUTPUTS).build());
    }

    @Test
    void afterAResetStepsAndHooksWorkAgain() {
        World.run(
                1,
                comm -> {
                    try (Trial trial = trial(Trial.network(), comm)) {
                        trial.pass(0, 4);
                        trial.optimizer().reset();
                        assertThat(trial.gradient("01Linear_weight")).containsOnly(0);
                        trial.pass(4, 8);
                        trial.step();
                        trial.pass(8, 12);
                        trial.pass(12, 16);
                        assertThatThrownBy(trial::step)
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("backwardPassesPerStep");
                        // the step after a failure begins anew
                        trial.pass(16, 20);
                        trial.step();
                        assertThat(trial.optimizer().overlap().timing().steps()).isEqualTo(3);
                    }
                });
    }

    /// A loss may leave anything in the gradients, and all of it in memory of a world that is gone.
    @Test
    void inAnotherWorldStepsAreThoseOfItsRanks() {
        World.run(
                1,
                first -> {
                    try (Trial trial = trial(Trial.network(), first);
                            Trial plain =
                                    new Trial(Trial.network(), _ -> Trial.sgd(), Trial.INPUT)) {
                        for (int from = 0; from < 12; from += 4) {
                            trial.pass(100, 104); // of a step that is never made
                            spoil(trial.parameter("03Linear_bias").getArray());
                            stepInAnotherWorld(trial, from);
                            plain.pass(from, from + 4);
                            plain.step();
                        }
                        assertThat(trial.weights()).containsExactly(plain.weights());
                    }
                });
    }

    private static void spoil(NDArray array) {
        try (NDArray gradient = array.getGradient()) {
            gradient.divi(0);
            assertThat(gradient.isInfinite().any().getBoolean()).isTrue();
        }
    }

    private static void stepInAnotherWorld(Trial trial, int from) {
        World.run(
                1,
                comm -> {
                    trial.optimizer().rebind(comm);
                    trial.pass(from, from + 4);
                    trial.step();
                });
    }

    @Test
    void aWeightOfAnotherDeviceIsRefused() {
        World.run(
                1,
                comm -> {
                    try (Trial trial = trial(Trial.network(), comm);
                            NDArray copy =
                                    trial.parameter("01Linear_weight").getArray().duplicate()) {
                        copy.setRequiresGradient(true);
                        String id = trial.parameter("01Linear_weight").getId();
                        assertThatThrownBy(() -> trial.optimizer().update(id, copy, copy))
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("Give each rank one device");
                    }
                });
    }

    /// It may be built before, as in an elastic job, where others wait for a worker from init on.
    @Test
    void aStepWithoutInitIsAnError() {
        try (Trial trial =
                new Trial(
                        Trial.network(),
                        block -> DistributedOptimizer.wrap(Trial.sgd(), block).build(),
                        Trial.INPUT)) {
            trial.pass(0, 4);
            assertThatThrownBy(trial::step)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("call Hvd.init() first");
        }
    }
}
