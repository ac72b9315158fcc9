package org.horovod4j.djl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.nn.Parameter;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.SmallNetwork;
import org.junit.jupiter.api.Test;

class MomentumCorrectionTest {
    private static final float MOMENTUM = 0.9f;

    /// Corrected steps must equal those of `u = m·u + gradient`, `weight -= rate·u`, which need no
    /// correction.
    @Test
    void correctedStepsScaleMomentumWithLearningRate() {
        float[] rates = {0.1f, 0.2f, 0.4f, 0.4f, 0.04f};
        Tracker rate = update -> rates[update - 1];
        try (Model model = SmallNetwork.initialised()) {
            Optimizer sgd =
                    Optimizer.sgd().setLearningRateTracker(rate).optMomentum(MOMENTUM).build();
            MomentumCorrection correction = new MomentumCorrection(sgd, model, rate);
            Parameter bias = model.getBlock().getParameters().get("04Linear_bias");
            float expected = bias.getArray().toFloatArray()[0];
            float outside = 0;
            for (int update = 1; update <= rates.length; update++) {
                correction.correct();
                try (NDArray gradient = bias.getArray().onesLike()) {
                    sgd.update(bias.getId(), bias.getArray(), gradient);
                }
                outside = MOMENTUM * outside + 1;
                expected -= rates[update - 1] * outside;
                assertThat(bias.getArray().toFloatArray()[0])
                        .as("after update %d", update)
                        .isCloseTo(expected, within(1e-5f));
            }
            OptimizerState state = OptimizerState.of(sgd, model.getBlock());
            assertThat(state.settings().get("momentum")).isCloseTo(0.09, within(1e-6));
            correction.reset();
            assertThat(state.settings()).containsEntry("momentum", (double) MOMENTUM);
        }
    }

    @Test
    void optimizerWithoutMomentumIsRejected() {
        try (Model model = SmallNetwork.initialised()) {
            assertThatThrownBy(
                            () ->
                                    new MomentumCorrection(
                                            Optimizer.adam().build(), model, Tracker.fixed(1)))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("but Adam has the settings");
        }
    }
}
