package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Counts the reductions of an optimizer with one parameter.
class StepReductionTest {
    private static final class CountedGradients implements StepReduction.StepGradients {
        private final GradientReducer reducer;
        private final boolean hasHooks;
        private int reductions;

        CountedGradients(GradientReducer reducer, boolean hasHooks) {
            this.reducer = reducer;
            this.hasHooks = hasHooks;
        }

        void pass() {
            if (hasHooks) {
                reducer.ready(0);
            }
        }

        @Override
        public boolean hasHooks() {
            return hasHooks;
        }

        @Override
        public GradientReducer reducer() {
            return reducer;
        }

        @Override
        public void synchronize() {
            reducer.synchronize();
            reductions++;
        }
    }

    private interface Body {
        void run(CountedGradients gradients, StepReduction reduction);
    }

    private static void run(boolean hasHooks, int passes, Body body) {
        World.run(
                1,
                comm -> {
                    FakeGradients fake = new FakeGradients(1, "a");
                    GradientReducer reducer =
                            ReducerFixtures.reducer(
                                    comm,
                                    fake,
                                    ReducerFixtures.settings().backwardPassesPerStep(passes));
                    body.run(new CountedGradients(reducer, hasHooks), new StepReduction());
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void stepReducesAfterLastPass(boolean hasHooks) {
        run(
                hasHooks,
                2,
                (gradients, reduction) -> {
                    gradients.pass();
                    assertThat(reduction.reduceAtStep(gradients, false, 2)).isFalse();
                    assertThat(gradients.reductions).isZero();
                    gradients.pass();
                    assertThat(reduction.reduceAtStep(gradients, false, 2)).isTrue();
                    assertThat(gradients.reductions).isOne();
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void skippingStepUsesReducedGradients(boolean hasHooks) {
        run(
                hasHooks,
                1,
                (gradients, reduction) -> {
                    gradients.pass();
                    reduction.reduceNow(gradients);
                    reduction.setSkipping(true);
                    assertThat(reduction.reduceAtStep(gradients, false, 1)).isTrue();
                    assertThat(gradients.reductions).isOne();
                    assertThatThrownBy(() -> reduction.reduceAtStep(gradients, false, 1))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("gradients are not synchronized");
                });
    }

    @Test
    void withHooksGradientsAreReducedOnce() {
        run(
                true,
                1,
                (gradients, reduction) -> {
                    gradients.pass();
                    reduction.reduceNow(gradients);
                    reduction.reduceNow(gradients);
                    assertThat(reduction.reduceAtStep(gradients, false, 1)).isTrue();
                    assertThat(gradients.reductions).isOne();
                    gradients.pass();
                    assertThat(reduction.reduceAtStep(gradients, false, 1)).isTrue();
                    assertThat(gradients.reductions).isEqualTo(2);
                });
    }

    @Test
    void resetEndsSkipping() {
        run(
                true,
                1,
                (gradients, reduction) -> {
                    gradients.pass();
                    reduction.reduceNow(gradients);
                    reduction.setSkipping(true);
                    reduction.reset();
                    gradients.pass();
                    assertThat(reduction.reduceAtStep(gradients, false, 1)).isTrue();
                    assertThat(gradients.reductions).isEqualTo(2);
                });
    }
}
