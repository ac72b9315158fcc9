package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

class GaussianProcessTest {
    private static final CovarianceKernel PLAIN = new CovarianceKernel(List.of(1.0), 1, 0);

    @Test
    void aSystemOfThreeEquationsIsSolved() {
        Cholesky cholesky =
                new Cholesky(new double[][] {{4, 12, -16}, {12, 37, -43}, {-16, -43, 98}});
        assertThat(cholesky.solve(new double[] {-20, -43, 192}))
                .containsExactly(new double[] {1, 2, 3}, within(1e-9));
        assertThat(cholesky.logDeterminant()).isCloseTo(Math.log(36), within(1e-12));
    }

    @Test
    void matrixThatIsNotPositiveDefiniteIsRejected() {
        assertThatThrownBy(() -> new Cholesky(new double[][] {{1, 2}, {2, 1}}))
                .isInstanceOf(ArithmeticException.class)
                .hasMessageContaining("positive definite");
    }

    /// One measurement `y = 2` at 0 with noise² 0.25: mean `2k / 1.25`, variance `1 - k² / 1.25`.
    @Test
    void oneMeasurementGivesTheValuesWorkedOutByHand() {
        GaussianProcess process = process(new CovarianceKernel(List.of(1.0), 1, 0.5), x -> 2, 0);
        double k = Math.exp(-0.5);
        Prediction atOne = process.predict(new double[] {1});
        assertThat(atOne.mean()).isCloseTo(2 * k / 1.25, within(1e-8));
        assertThat(atOne.deviation()).isCloseTo(Math.sqrt(1 - k * k / 1.25), within(1e-8));
        assertThat(process.logMarginalLikelihood())
                .isCloseTo(
                        -4 / 1.25 / 2 - Math.log(1.25) / 2 - Math.log(2 * Math.PI) / 2,
                        within(1e-8));
    }

    /// Measurements 1 and -1 at 0 and 1: the inverse of `[1 k; k 1]` applied to them is `(1, -1) /
    /// (1 - k)`.
    @Test
    void twoMeasurementsGiveTheValuesWorkedOutByHand() {
        GaussianProcess process = process(PLAIN, x -> 1 - 2 * x, 0, 1);
        double k = Math.exp(-0.5);
        double expected = (Math.exp(-2) - k) / (1 - k);
        assertThat(process.predict(new double[] {2}).mean()).isCloseTo(expected, within(1e-6));
        assertThat(process.predict(new double[] {0.5}).mean()).isCloseTo(0, within(1e-9));
    }

    @Test
    void withoutNoiseTheMeanRunsThroughTheMeasurements() {
        double[] places = {0, 0.2, 0.45, 0.7, 1};
        GaussianProcess process =
                process(new CovarianceKernel(List.of(0.3), 1, 0), Math::sin, places);
        for (double place : places) {
            Prediction there = process.predict(new double[] {place});
            assertThat(there.mean()).isCloseTo(Math.sin(place), within(1e-5));
            assertThat(there.deviation()).isLessThan(1e-3);
        }
    }

    @Test
    void aSmoothFunctionIsKnownBetweenItsMeasurements() {
        DoubleUnaryOperator wave = x -> Math.sin(6 * x);
        GaussianProcess process =
                process(
                        new CovarianceKernel(List.of(0.3), 1, 0.01),
                        wave,
                        0,
                        .15,
                        .3,
                        .45,
                        .6,
                        .75,
                        .9,
                        1);
        for (double x = 0; x <= 1; x += 0.05) {
            assertThat(process.predict(new double[] {x}).mean())
                    .isCloseTo(wave.applyAsDouble(x), within(0.05));
        }
    }

    @Test
    void deviationShrinksWithMeasurementsAndGrowsWithDistance() {
        CovarianceKernel covarianceKernel = new CovarianceKernel(List.of(0.3), 1, 0.2);
        double[] here = {0.5};
        double before = process(covarianceKernel, Math::sin, 0.1).predict(here).deviation();
        double after = process(covarianceKernel, Math::sin, 0.1, 0.6).predict(here).deviation();
        double again =
                process(covarianceKernel, Math::sin, 0.1, 0.6, 0.6).predict(here).deviation();
        assertThat(after).isLessThan(before);
        assertThat(again).isLessThan(after);
        assertThat(process(covarianceKernel, Math::sin, 0.1).predict(new double[] {5}).deviation())
                .isCloseTo(1, within(1e-6));
    }

    @Test
    void noiseIsAveragedOut() {
        List<double[]> twice = List.of(new double[] {0}, new double[] {0});
        GaussianProcess process =
                new GaussianProcess(
                        twice,
                        new double[] {0.9, 1.1},
                        new CovarianceKernel(List.of(1.0), 100, 0.1));
        assertThat(process.predict(new double[] {0}).mean()).isCloseTo(1, within(1e-3));
    }

    @Test
    void theFitFindsOutWhichCoordinateMatters() {
        List<double[]> positions =
                IntStream.range(0, 25)
                        .mapToObj(i -> new double[] {i % 5 / 4.0, Math.floorDiv(i, 5) / 4.0})
                        .toList();
        double[] values = positions.stream().mapToDouble(p -> Math.sin(6 * p[0])).toArray();
        CovarianceKernel covarianceKernel = new CovarianceKernelFit(positions, values, 0.8).best();
        assertThat(covarianceKernel.lengths().get(1))
                .isGreaterThan(2 * covarianceKernel.lengths().get(0));
        assertThat(covarianceKernel.noise()).isLessThan(0.1);
    }

    @Test
    void theFitTakesNoMoreForNoiseThanItMay() {
        List<double[]> positions =
                IntStream.range(0, 20).mapToObj(i -> new double[] {i / 19.0}).toList();
        double[] jagged = IntStream.range(0, 20).mapToDouble(i -> i % 2 == 0 ? 1 : -1).toArray();
        assertThat(new CovarianceKernelFit(positions, jagged, 0.8).best().noise()).isEqualTo(0.8);
        assertThat(new CovarianceKernelFit(positions, jagged, 0.1).best().noise())
                .isLessThanOrEqualTo(0.1);
    }

    /// With mean at the best, half of the deviation's density at 0: `1 / sqrt(2 pi)`; one deviation
    /// above `0.8413447 + 0.2419707`, one below `0.2419707 - 0.1586553`.
    @Test
    void expectedImprovementHasTheValuesOfTheTables() {
        assertThat(new Prediction(3, 2).expectedImprovement(3))
                .isCloseTo(2 * 0.3989423, within(1e-6));
        assertThat(new Prediction(1, 1).expectedImprovement(0)).isCloseTo(1.0833155, within(1e-6));
        assertThat(new Prediction(-1, 1).expectedImprovement(0)).isCloseTo(0.0833155, within(1e-6));
        assertThat(new Prediction(-30, 1).expectedImprovement(0)).isZero();
    }

    @Test
    void withoutDeviationExpectedImprovementIsTheGain() {
        assertThat(new Prediction(5, 0).expectedImprovement(3)).isEqualTo(2);
        assertThat(new Prediction(2, 0).expectedImprovement(3)).isZero();
    }

    private static GaussianProcess process(
            CovarianceKernel covarianceKernel, DoubleUnaryOperator function, double... places) {
        return new GaussianProcess(
                DoubleStream.of(places).mapToObj(place -> new double[] {place}).toList(),
                DoubleStream.of(places).map(function).toArray(),
                covarianceKernel);
    }
}
