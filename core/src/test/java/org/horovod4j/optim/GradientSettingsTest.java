package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.ReduceOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class GradientSettingsTest {
    private static GradientSettings.Builder settings() {
        return GradientSettings.builder();
    }

    private static void assertRejected(GradientSettings.Builder builder, String reason) {
        assertThatIllegalArgumentException()
                .isThrownBy(builder::build)
                .withMessageContaining(reason);
    }

    @Test
    void builderStartsWithDefaults() {
        GradientSettings built = settings().build();
        assertThat(built.op()).isEqualTo(ReduceOp.AVERAGE);
        assertThat(built.backwardPassesPerStep()).isEqualTo(1);
        assertThat(built.scaleLocalGradients()).isTrue();
        assertThat(built.local().test("anything")).isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = {"MIN", "MAX", "PRODUCT"})
    void rejectsUnsupportedReduceOps(ReduceOp op) {
        assertRejected(settings().op(op), "AVERAGE, SUM or ADASUM, not " + op);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1})
    void rejectsNonPositiveBackwardPasses(int passes) {
        assertRejected(
                settings().backwardPassesPerStep(passes), "backwardPassesPerStep is at least 1");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void rejectsInvalidPredivideFactors(double factor) {
        assertRejected(
                settings().predivideFactor(factor), "predivideFactor is positive and finite");
    }

    @Test
    void rejectsPredivideFactorForSum() {
        assertRejected(settings().op(ReduceOp.SUM).predivideFactor(2), "op is SUM");
    }

    @Test
    void rejectsAverageAccumulatedForAdasum() {
        assertRejected(
                settings().op(ReduceOp.ADASUM).averageAccumulated(true), "averageAccumulated");
    }

    @Test
    void rejectsInvalidGroups() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new GradientGroups.Count(0))
                .withMessageContaining("at least 1, not 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new GradientGroups.Named(List.of(List.of())))
                .withMessageContaining("at least one parameter");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> new GradientGroups.Named(List.of(List.of("a"), List.of("b", "a"))))
                .withMessageContaining("'a' is in groups twice");
    }
}
