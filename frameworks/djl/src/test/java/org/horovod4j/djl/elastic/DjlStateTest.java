package org.horovod4j.djl.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.nn.Parameter;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

class DjlStateTest {
    @Test
    void restoreReturnsCommittedState() {
        try (Model model = SmallNetwork.initialised()) {
            Optimizer adam = Optimizer.adam().build();
            DjlState state = new DjlState(model, adam);
            state.commit();
            List<String> atFirst = contents(model, adam);
            SmallNetwork.train(model, adam, 1);
            state.restore();
            assertThat(contents(model, adam)).as("no steps, no means").isEqualTo(atFirst);

            List<String> last = atFirst;
            for (int commit = 1; commit <= 4; commit++) { // the copies take turns
                SmallNetwork.train(model, adam, 2);
                state.commit();
                last = contents(model, adam);
                assertThat(last).contains("updates " + 2 * commit);
            }
            SmallNetwork.train(model, adam, 3);
            OptimizerState.of(adam, model.getBlock()).set("learningRateTracker.value", 0.5);
            state.restore();
            assertThat(contents(model, adam)).isEqualTo(last);
        }
    }

    @Test
    void restoreIncludesParametersFrozenOrUnfrozenSince() {
        try (Model model = SmallNetwork.initialised()) {
            Optimizer adam = Optimizer.adam().build();
            DjlState state = new DjlState(model, adam);
            SmallNetwork.train(model, adam, 1);
            Parameter frozen = model.getBlock().getParameters().valueAt(0);
            Parameter thawed = model.getBlock().getParameters().valueAt(1);
            thawed.freeze(true);
            state.commit();
            List<String> committed = contents(model, adam);
            frozen.freeze(true);
            thawed.freeze(false);
            SmallNetwork.train(model, adam, 1);
            state.restore();
            assertThat(contents(model, adam)).isEqualTo(committed);
        }
    }

    @Test
    void newWorkerGetsStateOfOthers() {
        World.run(
                3,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adam = Optimizer.adam().build();
                        DjlState state = new DjlState(model, adam);
                        SmallNetwork.train(model, adam, 2 * comm.rank());
                        List<String> before = contents(model, adam);
                        state.sync(comm, 1);
                        assertThat(contents(model, adam))
                                .contains("updates 2")
                                .isEqualTo(comm.broadcastObject("of rank 1", before, 1));
                    }
                });
    }

    /// A failed sync may have replaced the optimizer's arrays already.
    @Test
    void commitOutlivesItsArrays() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adam = Optimizer.adam().build();
                        DjlState state = new DjlState(model, adam);
                        SmallNetwork.train(model, adam, comm.rank());
                        state.commit();
                        List<String> before = contents(model, adam);
                        state.sync(comm, 0);
                        assertThat(OptimizerState.of(adam, model.getBlock()).arrays()).isEmpty();
                        state.restore();
                        assertThat(contents(model, adam)).isEqualTo(before);
                    }
                });
    }

    @Test
    void localParametersAreCommittedButNotSent() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adam = Optimizer.adam().build();
                        SmallNetwork.train(model, adam, 1);
                        DjlState state = new DjlState(model.getBlock(), adam, name -> !isOwn(name));
                        state.commit();
                        List<String> own = own(model, adam);
                        state.sync(comm, 0);
                        assertThat(own(model, adam)).hasSize(3).isEqualTo(own);
                        SmallNetwork.train(model, adam, 1);
                        state.restore();
                        assertThat(own(model, adam)).isEqualTo(own);
                    }
                });
    }

    /// A step waits for the commit. Forward passes do not, so their statistics are copied at once.
    @Test
    void nextStepDoesNotChangeRunningCommit() {
        World.run(
                1,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        DistributedOptimizer adam = distributed(model, comm);
                        BlockingQueue<Runnable> copies = new LinkedBlockingQueue<>();
                        DjlState state = new DjlState(model, adam).inBackground(copies::add);
                        SmallNetwork.step(model, adam);
                        state.commit();
                        List<String> committed = contents(model, adam);
                        List<NDArray> passed = runningStatistics(model);
                        assertThat(passed).hasSize(2);
                        passed.forEach(it -> it.addi(1));

                        CountDownLatch done = new CountDownLatch(1);
                        Thread next =
                                Thread.ofPlatform()
                                        .start(
                                                () -> {
                                                    SmallNetwork.step(model, adam);
                                                    done.countDown();
                                                });
                        await().until(() -> next.getState() == Thread.State.WAITING);
                        copies.take().run();
                        done.await();
                        assertThat(contents(model, adam)).contains("updates 2");

                        state.restore();
                        assertThat(contents(model, adam)).isEqualTo(committed);
                    }
                });
    }

    /// With the default executor, and a copy that takes as long as a step.
    @Test
    void backgroundCommitIsRestoredCompletely() {
        World.run(
                1,
                comm -> {
                    try (Model model = SmallNetwork.initialised("PyTorch", 50_000)) {
                        DistributedOptimizer adam = distributed(model, comm);
                        DjlState state = new DjlState(model, adam).inBackground();
                        List<String> last = List.of();
                        for (int commit = 0; commit < 5; commit++) {
                            SmallNetwork.step(model, adam);
                            last = contents(model, adam);
                            state.commit();
                        }
                        SmallNetwork.step(model, adam);
                        state.restore();
                        assertThat(contents(model, adam)).isEqualTo(last);
                    }
                });
    }

    @Test
    void backgroundCommitNeedsDistributedOptimizer() {
        try (Model model = SmallNetwork.initialised()) {
            DjlState state = new DjlState(model, Optimizer.adam().build());
            assertThatThrownBy(state::inBackground)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("but Adam does not wait for it")
                    .hasMessageContaining("HvdDjl.distributed");
        }
    }

    private static DistributedOptimizer distributed(Model model, Communicator communicator) {
        return DistributedOptimizer.wrap(Optimizer.adam().build(), model.getBlock())
                .communicator(communicator)
                .build();
    }

    private static List<NDArray> runningStatistics(Model model) {
        return model.getBlock().getParameters().values().stream()
                .filter(parameter -> !parameter.requiresGradient())
                .map(Parameter::getArray)
                .toList();
    }

    @Test
    void uninitialisedModelIsRejected() {
        try (Model model = SmallNetwork.model()) {
            Optimizer adam = Optimizer.adam().build();
            assertThatThrownBy(() -> new DjlState(model, adam))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is not initialised: call trainer.initialize");
        }
    }

    private static boolean isOwn(String name) {
        return name.endsWith("04Linear_bias");
    }

    /// The bias, and its mean and variance in Adam.
    private static List<String> own(Model model, Optimizer optimizer) {
        return contents(model, optimizer).stream()
                .filter(line -> isOwn(line.replaceFirst("\\[.*", "")))
                .toList();
    }

    private static List<String> contents(Model model, Optimizer optimizer) {
        OptimizerState state = OptimizerState.of(optimizer, model.getBlock());
        List<String> contents =
                new ArrayList<>(SmallNetwork.contents(Parameters.arrays(model.getBlock())));
        contents.addAll(SmallNetwork.contents(state.arrays()));
        contents.add("updates " + state.updates());
        contents.add(state.counts().toString());
        contents.add(state.settings().toString());
        return contents;
    }
}
