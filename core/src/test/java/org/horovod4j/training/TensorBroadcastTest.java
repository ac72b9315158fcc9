package org.horovod4j.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.MismatchException;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.Map;

class TensorBroadcastTest {
    @Test
    void allRanksGetTensorsOfRoot() {
        World.run(
                3,
                comm -> {
                    float[] weights = {comm.rank(), comm.rank() + 1};
                    double[] bias = {-comm.rank()};
                    TensorBroadcast.run(
                            comm,
                            "parameters",
                            Map.of("weights", Tensor.of(weights), "bias", Tensor.of(bias)),
                            1);
                    assertThat(weights).containsExactly(1, 2);
                    assertThat(bias).containsExactly(-1);
                });
    }

    @Test
    void allRanksThrowWhenOneDiffers() {
        World.run(
                2,
                comm -> {
                    float[] weights = new float[2 + comm.rank()];
                    assertThatThrownBy(
                                    () ->
                                            TensorBroadcast.run(
                                                    comm,
                                                    "parameters",
                                                    Map.of("weights", Tensor.of(weights)),
                                                    0))
                            .isInstanceOf(MismatchException.class)
                            .hasMessage(
                                    """
                                    parameters: the ranks do not match
                                      rank 1: has 'weights' as float32[3], the root rank as float32[2]
                                    Use the same names, types and shapes on every rank.""");
                });
    }
}
