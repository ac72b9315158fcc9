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

class GradientsTest {
    private static final List<Parameter> PARAMETERS =
            List.of(
                    new Parameter("first", Shape.of(3, 5)),
                    new Parameter("middle", Shape.of(1)),
                    new Parameter("last", Shape.of(7)));

    @ParameterizedTest
    @EnumSource
    void everyWaySumsWhereverTheGradientsLie(Placement placement) {
        World.run(
                3,
                comm -> {
                    Gradients gradients = gradients(comm, placement);
                    gradients.verify(gradients::sumSynchronously);
                    gradients.verify(gradients::sumAsGroup);
                    gradients.verify(() -> gradients.sumAsynchronously(() -> {}));
                    gradients.verify(() -> gradients.sumAsynchronously(() -> {}));
                });
    }

    @Test
    void aSumThatWasNotMadeIsFound() {
        World.run(
                2,
                comm ->
                        assertThatIllegalStateException()
                                .isThrownBy(
                                        () -> gradients(comm, Placement.NATIVE).verify(() -> {}))
                                .withMessageContaining("'last'")
                                .withMessageContaining("over 2 ranks")
                                .withMessageContaining("element 0"));
    }

    @Test
    void eachGradientHasItsShareOfTheBackwardPass() {
        World.run(
                2,
                comm -> {
                    LongAdder shares = new LongAdder();
                    Gradients gradients = gradients(comm, Placement.HEAP);

                    gradients.sumAsynchronously(shares::increment);
                    gradients.skip(shares::increment);

                    assertThat(shares.sum()).isEqualTo(2L * PARAMETERS.size());
                });
    }

    private static Gradients gradients(Communicator comm, Placement placement) {
        return Gradients.allocate(comm, placement, PARAMETERS);
    }
}
