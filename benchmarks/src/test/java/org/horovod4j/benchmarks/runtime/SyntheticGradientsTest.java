package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.horovod4j.Communicator;
import org.horovod4j.Shape;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;

class SyntheticGradientsTest {
    private static final List<ModelParameter> PARAMETERS =
            List.of(
                    new ModelParameter("first", Shape.of(3, 5)),
                    new ModelParameter("middle", Shape.of(1)),
                    new ModelParameter("last", Shape.of(7)));

    @ParameterizedTest
    @EnumSource
    void everyModeSumsInEveryKindOfMemory(GradientMemory gradientMemory) {
        World.run(
                3,
                comm -> {
                    SyntheticGradients syntheticGradients = gradients(comm, gradientMemory);
                    syntheticGradients.verify(syntheticGradients::allreduceSync);
                    syntheticGradients.verify(syntheticGradients::groupedAllreduce);
                    syntheticGradients.verify(() -> syntheticGradients.allreduceAsync(() -> {}));
                    syntheticGradients.verify(() -> syntheticGradients.allreduceAsync(() -> {}));
                });
    }

    @Test
    void verifyFailsOnAMissingSum() {
        World.run(
                2,
                comm ->
                        assertThatIllegalStateException()
                                .isThrownBy(
                                        () ->
                                                gradients(comm, GradientMemory.NATIVE)
                                                        .verify(() -> {}))
                                .withMessageContaining("'last'")
                                .withMessageContaining("over 2 ranks")
                                .withMessageContaining("element 0"));
    }

    @Test
    void backwardRunsOncePerGradient() {
        World.run(
                2,
                comm -> {
                    LongAdder shares = new LongAdder();
                    SyntheticGradients syntheticGradients = gradients(comm, GradientMemory.HEAP);

                    syntheticGradients.allreduceAsync(shares::increment);
                    syntheticGradients.computeOnly(shares::increment);

                    assertThat(shares.sum()).isEqualTo(2L * PARAMETERS.size());
                });
    }

    private static SyntheticGradients gradients(Communicator comm, GradientMemory gradientMemory) {
        return SyntheticGradients.allocate(comm, gradientMemory, PARAMETERS);
    }
}
