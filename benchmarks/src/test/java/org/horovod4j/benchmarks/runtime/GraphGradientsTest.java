package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Shape;
import org.horovod4j.testing.World;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class GraphGradientsTest {
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void stepsRunAndSumsAreRight(boolean isReduced) {
        World.run(
                2,
                comm -> {
                    GraphGradients gradients =
                            new GraphGradients(
                                    comm,
                                    List.of(
                                            new ModelParameter("first", Shape.of(3, 5)),
                                            new ModelParameter("last", Shape.of(7))),
                                    isReduced);
                    for (int i = 0; i < 3; i++) {
                        gradients.verify();
                        gradients.run();
                    }
                });
    }
}
