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

/// Behaviour that one rank can show. Tests with several processes are integration tests.
class DistributedOptimizerTest {
    private static TestTraining trial(Block block, Communicator comm) {
        return new TestTraining(block, b -> wrap(b, comm), TestTraining.INPUT);
    }

    private static DistributedOptimizer wrap(Block block, Communicator comm) {
        return DistributedOptimizer.wrap(TestTraining.sgd(), block).communicator(comm).build();
    }

    @Test
    void singleRankEqualsWrappedOptimizer() {
        World.run(
                1,
                comm -> {
                    try (TestTraining testTraining = trial(TestTraining.network(), comm);
                            TestTraining plain =
                                    new TestTraining(
                                            TestTraining.network(),
                                            _ -> TestTraining.sgd(),
                                            TestTraining.INPUT)) {
                        for (int step = 0; step < 3; step++) {
                            testTraining.pass(step * 4, step * 4 + 4);
                            testTraining.step();
                            plain.pass(step * 4, step * 4 + 4);
                            plain.step();
                        }
                        assertThat(testTraining.weights()).containsExactly(plain.weights());
                    }
                });
    }

    /// The trainer creates the gradients of a loaded model, after the optimizer.
    @Test
    void trainsLoadedNetwork(@TempDir Path folder) {
        World.run(
                1,
                comm -> {
                    try (TestTraining saved = trial(TestTraining.network(), comm)) {
                        saved.pass(0, 4);
                        saved.step();
                        saved.save(folder);
                    }
                    try (TestTraining testTraining =
                                    TestTraining.loaded(folder, block -> wrap(block, comm));
                            TestTraining plain =
                                    TestTraining.loaded(folder, _ -> TestTraining.sgd())) {
                        float[] before = testTraining.weights();
                        for (int step = 0; step < 3; step++) {
                            testTraining.pass(step * 4, step * 4 + 4);
                            testTraining.step();
                            plain.pass(step * 4, step * 4 + 4);
                            plain.step();
                        }
                        assertThat(testTraining.weights())
                                .isNotEqualTo(before)
                                .containsExactly(plain.weights());
                        assertThat(testTraining.optimizer().overlap().isUsed()).isTrue();
                    }
                });
    }

    /// As in a TorchScript model after loading.
    @Test
    void parametersMayBeUnfrozenAfterBuild() {
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
                    try (TestTraining testTraining =
                            new TestTraining(
                                    TestTraining.network(), whileFrozen, TestTraining.INPUT)) {
                        float[] before = testTraining.weights();
                        testTraining.pass(0, 4);
                        testTraining.step();
                        assertThat(testTraining.weights()).isNotEqualTo(before);
                    }
                });
    }

    @Test
    void sharedBlockIsUpdatedOncePerStep() {
        World.run(
                1,
                comm -> {
                    try (TestTraining testTraining = trial(tied(), comm);
                            TestTraining plain =
                                    new TestTraining(
                                            tied(), _ -> TestTraining.sgd(), TestTraining.INPUT)) {
                        assertThat(testTraining.names()).hasSize(6);
                        assertThat(new BlockParameters(testTraining.model.getBlock()).names())
                                .containsExactly(
                                        "01Linear_weight",
                                        "01Linear_bias",
                                        "03Linear_weight",
                                        "03Linear_bias");
                        testTraining.pass(0, 4);
                        testTraining.step();
                        plain.pass(0, 4);
                        plain.step();
                        assertThat(testTraining.weights()).containsExactly(plain.weights());
                    }
                });
    }

    private static Block tied() {
        Block shared = Linear.builder().setUnits(TestTraining.INPUTS).build();
        return new SequentialBlock()
                .add(shared)
                .add(shared)
                .add(Linear.builder().setUnits(TestTraining.OUTPUTS).build());
    }

    @Test
    void stepsAndHooksWorkAfterReset() {
        World.run(
                1,
                comm -> {
                    try (TestTraining testTraining = trial(TestTraining.network(), comm)) {
                        testTraining.pass(0, 4);
                        testTraining.optimizer().reset();
                        assertThat(testTraining.gradient("01Linear_weight")).containsOnly(0);
                        testTraining.pass(4, 8);
                        testTraining.step();
                        testTraining.pass(8, 12);
                        testTraining.pass(12, 16);
                        assertThatThrownBy(testTraining::step)
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("backwardPassesPerStep");
                        // the step after a failure starts a new window
                        testTraining.pass(16, 20);
                        testTraining.step();
                        assertThat(testTraining.optimizer().overlap().overlapTiming().steps())
                                .isEqualTo(3);
                    }
                });
    }

    /// After the loss of a peer, gradients may have any value, in memory of the previous generation.
    @Test
    void rebindUsesRanksOfNewCommunicator() {
        World.run(
                1,
                first -> {
                    try (TestTraining testTraining = trial(TestTraining.network(), first);
                            TestTraining plain =
                                    new TestTraining(
                                            TestTraining.network(),
                                            _ -> TestTraining.sgd(),
                                            TestTraining.INPUT)) {
                        for (int from = 0; from < 12; from += 4) {
                            testTraining.pass(100, 104); // of a step that is never made
                            makeGradientInfinite(
                                    testTraining.parameter("03Linear_bias").getArray());
                            stepAfterRebind(testTraining, from);
                            plain.pass(from, from + 4);
                            plain.step();
                        }
                        assertThat(testTraining.weights()).containsExactly(plain.weights());
                    }
                });
    }

    private static void makeGradientInfinite(NDArray array) {
        try (NDArray gradient = array.getGradient()) {
            gradient.divi(0);
            assertThat(gradient.isInfinite().any().getBoolean()).isTrue();
        }
    }

    private static void stepAfterRebind(TestTraining testTraining, int from) {
        World.run(
                1,
                comm -> {
                    testTraining.optimizer().rebind(comm);
                    testTraining.pass(from, from + 4);
                    testTraining.step();
                });
    }

    @Test
    void weightOnOtherDeviceIsRejected() {
        World.run(
                1,
                comm -> {
                    try (TestTraining testTraining = trial(TestTraining.network(), comm);
                            NDArray copy =
                                    testTraining
                                            .parameter("01Linear_weight")
                                            .getArray()
                                            .duplicate()) {
                        copy.setRequiresGradient(true);
                        String id = testTraining.parameter("01Linear_weight").getId();
                        assertThatThrownBy(() -> testTraining.optimizer().update(id, copy, copy))
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("Use one device for each rank");
                    }
                });
    }

    /// An elastic worker builds its optimizer before init, since the others wait for it afterwards.
    @Test
    void stepBeforeInitFails() {
        try (TestTraining testTraining =
                new TestTraining(
                        TestTraining.network(),
                        block -> DistributedOptimizer.wrap(TestTraining.sgd(), block).build(),
                        TestTraining.INPUT)) {
            testTraining.pass(0, 4);
            assertThatThrownBy(testTraining::step)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("call Hvd.init() first");
        }
    }
}
