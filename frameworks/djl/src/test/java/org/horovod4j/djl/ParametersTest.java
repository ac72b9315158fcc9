package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

import org.horovod4j.MismatchException;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;

class ParametersTest {

    @ParameterizedTest(name = "{0} ranks, root {1}")
    @CsvSource({"1, 0", "2, 0", "3, 2"})
    void allRanksGetParametersOfRoot(int size, int rootRank) {
        World.run(
                size,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        List<String> before = contents(model);
                        List<String> roots = comm.broadcastObject("roots", before, rootRank);
                        assertThat(before.equals(roots)).isEqualTo(comm.rank() == rootRank);

                        Parameters.broadcast(comm, model.getBlock(), rootRank);

                        assertThat(contents(model)).isEqualTo(roots);
                        assertThat(roots).anyMatch(array -> array.contains("runningMean"));
                    }
                });
    }

    @Test
    void differentNetworksFailOnEveryRank() {
        World.run(
                3,
                comm -> {
                    try (Model model = SmallNetwork.model()) {
                        int inputs = comm.rank() == 1 ? 9 : SmallNetwork.INPUTS;
                        model.getBlock()
                                .initialize(
                                        model.getNDManager(),
                                        DataType.FLOAT32,
                                        new Shape(1, inputs));
                        assertThatThrownBy(() -> Parameters.broadcast(comm, model.getBlock(), 0))
                                .isInstanceOf(MismatchException.class)
                                .hasMessageContaining("rank 1: has '01Linear_weight'")
                                .hasMessageContaining("float32[5, 9]")
                                .hasMessageContaining("float32[5, 6]");
                    }
                });
    }

    @Test
    void uninitialisedRankFailsEveryRank() {
        World.run(
                2,
                comm -> {
                    try (Model model =
                            comm.rank() == 0 ? SmallNetwork.model() : SmallNetwork.initialised()) {
                        assertThatThrownBy(() -> Parameters.broadcast(comm, model.getBlock(), 0))
                                .isInstanceOf(MismatchException.class)
                                .hasMessageContaining("rank 0: parameter '01Linear_weight' is not")
                                .hasMessageContaining("trainer.initialize");
                    }
                });
        try (Model model = SmallNetwork.model()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> Parameters.arrays(model.getBlock()))
                    .withMessageContaining("trainer.initialize");
        }
    }

    private static List<String> contents(Model model) {
        return SmallNetwork.contents(Parameters.arrays(model.getBlock()));
    }
}
