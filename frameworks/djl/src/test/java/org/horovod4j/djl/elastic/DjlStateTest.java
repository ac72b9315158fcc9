package org.horovod4j.djl.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class DjlStateTest {
    @Test
    void whatWasCommittedComesBack() {
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
    void aNewWorkerGetsWhatTheOthersHaveLearnt() {
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

    /// A sync that fails half way may have replaced the optimizer's arrays already.
    @Test
    void aCommitOutlivesTheArraysItWasMadeOf() {
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
    void whatEachRankKeepsForItselfIsCommittedButNotSent() {
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

    @Test
    void aModelWithoutParametersIsRefused() {
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

    /// The bias, and what Adam has of it: a mean and a variance.
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
